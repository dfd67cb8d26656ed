"""Time: which frames a film has, playing, pausing and stepping through them, and the loops of `record` and `run`.

Plain Python, the same for the window, recordings, tests and benchmarks. Frame i shows film time i / fps, exactly.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

from render.experiment import Experiment
from render.frame import Frame
from render.stop import Terminated, listening
from render.video import Sink
from scenes.spec import Scene
from sim.system import Row

Progress = Callable[[int, int], None]
"""Called with (frames done, frames in all)."""


class Showing(Protocol):
    """What the player plays: in the program a render.stage.Stage."""

    def show(self, film_time: float) -> Frame: ...

    def reset(self) -> None: ...


class Interrupted(Exception):
    """A recording was stopped from outside by SIGINT (Ctrl-C) or SIGTERM. The message says how far it had come."""

    def __init__(self, done: int, total: int, signum: int) -> None:
        super().__init__(f"stopped after {done} of {total} frames; no file was kept")
        self.done = done
        self.total = total
        self.exit_code = 128 + signum  # the shell's convention


class Player:
    """Plays a stage at `fps` frames per second of film for `seconds` (None: without an end).

    `index` is the frame that `current` shows. A slow machine shows the same frames, later.
    """

    def __init__(self, stage: Showing, fps: float, seconds: float | None = None) -> None:
        if not fps > 0:
            raise ValueError(f"fps must be positive, got {fps}")
        self.stage = stage
        self.fps = fps
        self.total = None if seconds is None else frame_count(fps, seconds)
        self.index = 0
        self.paused = False

    @property
    def film_time(self) -> float:
        """Seconds of film at the current frame: index / fps, one division, so that it never drifts."""
        return self.index / self.fps

    @property
    def finished(self) -> bool:
        """The current frame is the film's last."""
        return self.total is not None and self.index >= self.total - 1

    def current(self) -> Frame:
        """Paint the current frame (again: a camera may have moved meanwhile)."""
        return self.stage.show(self.film_time)

    def tick(self) -> Frame:
        """Paint the current frame and go on to the next, unless paused or at the end."""
        frame = self.current()
        if not self.paused and not self.finished:
            self.index += 1
        return frame

    def step(self) -> None:
        """Pause, one frame further on."""
        self.paused = True
        if not self.finished:
            self.index += 1

    def restart(self) -> None:
        """Back to frame 0 and t = 0; playing or paused as before."""
        self.index = 0
        self.stage.reset()

    def frames(self) -> Iterator[Frame]:
        """The film from its first frame to its last. The frame is painted over by the next one."""
        self.restart()
        while True:
            yield self.current()
            if self.finished:
                return
            self.index += 1


def frame_count(fps: float, seconds: float) -> int:
    """Frames in a film: round(seconds * fps), at least one."""
    return max(1, round(seconds * fps))


def record(player: Player, sink: Sink, progress: Progress | None = None) -> int:
    """Play a whole film into `sink` and close it; returns the number of frames.

    Whatever stops it (Diverged, an encoder that fails) passes through with the sink aborted: nothing stands under the
    final name. Raises Interrupted on SIGINT and SIGTERM.
    """
    if player.total is None:
        raise ValueError("a recording needs a length")
    with listening() as signals:
        try:
            for frame in player.frames():
                signals.check()
                sink.write(frame)
                if progress is not None:
                    progress(sink.frames, player.total)
            signals.check()
            sink.close()
        except (KeyboardInterrupt, Terminated) as stop:
            with _deaf():
                sink.abort()
            signum = signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT
            raise Interrupted(sink.frames, player.total, signum) from None
        except BaseException:
            with _deaf():
                sink.abort()
            raise
    return sink.frames


def run_table(
    scene: Scene, until: float | None = None, every: int | None = None, notice: Callable[[list[str]], object] | None = None
) -> Iterator[Row]:
    """The rows of `run`, without any picture: at t = 0 and every `every` steps up to the system time `until`.

    `until` defaults to the end of the scene's film, `every` to about one row per film frame; on a plane a step is a film
    frame. Parameters follow the timeline. `notice` hears at the end what should be known about the numbers. Raises ValueError
    for a negative `until` or `every` below 1.
    """
    if (until is not None and not until >= 0) or (every is not None and every < 1):
        raise ValueError(f"until must be >= 0 and every >= 1, got {until} and {every}")
    experiment = Experiment(scene, fps=scene.film.fps, balance=True)
    end = scene.film.seconds * scene.film.speed if until is None else until
    stride = experiment.every if every is None else every
    try:
        yield experiment.system.diagnostics()
        for index in range(1, experiment.steps_until(end) + 1):
            experiment.step()
            if index % stride == 0:
                yield experiment.system.diagnostics()
        if notice is not None:
            notice(experiment.notices())
    finally:
        experiment.release()


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """A second Ctrl-C must not interrupt the cleaning up."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = {signum: signal.signal(signum, signal.SIG_IGN) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, old in before.items():
            signal.signal(signum, old)
