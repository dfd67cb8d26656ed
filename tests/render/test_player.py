"""Frame times, playing by hand, and what is left behind when a recording is stopped."""

import contextlib
import os
import signal
from fractions import Fraction

import pytest

from render.frame import Frame
from render.player import Interrupted, Player, frame_count, record
from render.video import Mp4Sink, NullSink, samples
from sim.system import Diverged

SIZE = (64, 64)


class Stage:
    """Remembers what it was asked to show; does `event(k)` at its k-th frame."""

    def __init__(self, event=lambda _: None):
        self.times = []
        self.resets = 0
        self.event = event
        self.frame = Frame(*SIZE)

    def show(self, film_time):
        self.event(len(self.times))
        self.times.append(film_time)
        return self.frame

    def reset(self):
        self.resets += 1


@pytest.mark.parametrize(
    ("fps", "seconds", "count"), [(30, 5, 150), (60, 2, 120), (29.97, 10, 300), (30, 0.001, 1), (24, 1.02, 24)]
)
def test_a_film_has_the_rounded_number_of_frames(fps, seconds, count):
    assert frame_count(fps, seconds) == count
    stage = Stage()
    assert len(list(Player(stage, fps, seconds).frames())) == len(stage.times) == count


def test_frame_i_is_at_i_over_fps_to_the_bit_however_late():
    stage = Stage()
    list(Player(stage, 30, 100).frames())
    assert stage.times == [float(Fraction(i, 30)) for i in range(3000)]


def test_playing_pausing_stepping_and_restarting():
    stage = Stage()
    player = Player(stage, 10)
    for _ in range(3):
        player.tick()
    player.paused = True
    player.tick()
    player.tick()
    player.step()
    player.tick()
    assert stage.times == [0.0, 0.1, 0.2, 0.3, 0.3, 0.4]
    player.restart()
    player.paused = False
    player.tick()
    player.tick()
    assert stage.times[-2:] == [0.0, 0.1] and stage.resets == 1


def test_at_the_end_the_last_frame_stays():
    stage = Stage()
    player = Player(stage, 10, 0.3)
    for _ in range(6):
        player.tick()
    assert stage.times == [0.0, 0.1, 0.2, 0.2, 0.2, 0.2] and player.finished


def test_recording_counts_and_reports():
    seen = []
    sink = NullSink()
    assert record(Player(Stage(), 10, 1), sink, lambda done, total: seen.append((done, total))) == 10
    assert sink.frames == 10 and seen == [(i, 10) for i in range(1, 11)]


def test_a_film_without_end_or_rate_is_refused():
    with pytest.raises(ValueError, match="length"):
        record(Player(Stage(), 10), NullSink())
    with pytest.raises(ValueError, match="fps"):
        Player(Stage(), 0)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_recording_says_how_far_it_came_and_leaves_nothing(tmp_path, signum):
    def event(k):
        if k == 4:
            os.kill(os.getpid(), signum)

    handlers = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(Interrupted, match="after 4 of 10 frames") as stopped:
        record(Player(Stage(event), 10, 1), Mp4Sink(tmp_path / "a.mp4", SIZE, 10))
    assert stopped.value.exit_code == 128 + signum
    assert list(tmp_path.iterdir()) == []
    assert [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_second_signal_does_not_disturb_the_cleaning_up(tmp_path):
    class Slow(Mp4Sink):
        def abort(self):
            os.kill(os.getpid(), signal.SIGINT)
            super().abort()

    def event(k):
        if k == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="after 2 of 10"):
        record(Player(Stage(event), 10, 1), Slow(tmp_path / "a.mp4", SIZE, 10))
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_was_ignored_stays_ignored():
    """As under nohup, or in a background job of a shell script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert record(Player(Stage(lambda _: os.kill(os.getpid(), signal.SIGINT)), 10, 0.3), NullSink()) == 3
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_signal_that_a_library_swallowed_still_stops_the_recording(tmp_path):
    """Taichi compiles with bare `except:` around parts of its work."""

    def event(k):
        if k == 5:
            with contextlib.suppress(BaseException):
                os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted, match="after 5 of 10") as stopped:
        record(Player(Stage(event), 10, 1), Mp4Sink(tmp_path / "a.mp4", SIZE, 10))
    assert stopped.value.exit_code == 143 and list(tmp_path.iterdir()) == []


def test_a_system_that_diverges_passes_through_and_leaves_nothing(tmp_path):
    def event(k):
        if k == 3:
            raise Diverged("the state is not finite at t = 0.3")

    with pytest.raises(Diverged, match="not finite"):
        record(Player(Stage(event), 10, 1), Mp4Sink(tmp_path / "a.mp4", SIZE, 10))
    assert list(tmp_path.iterdir()) == []


def test_a_whole_recording_is_there(tmp_path):
    assert record(Player(Stage(), 10, 1), Mp4Sink(tmp_path / "a.mp4", SIZE, 10)) == samples(tmp_path / "a.mp4") == 10
