"""What the live window shows and how it answers: one scene on a stage, its clock, what the user holds, and messages.

Knows nothing of GGUI, so everything but the window itself is tested without one. A parameter that the user moves is *held*: it
stands above the timeline until it is let go. The camera's angles are held parameters like any other; a plane's window is moved
itself.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from render.frame import Frame
from render.live_input import Action, Band, Drag, Gesture, Zoom
from render.live_panels import PanelState, Slider
from render.live_snapshot import snapshot
from render.live_view import ViewControl
from render.player import Player
from render.stage import VIEW, Stage
from render.video import PngSink
from scenes.fields import LiveParameter, live_parameters
from scenes.load import UserError, dump_scene
from scenes.spec import Scene
from sim.system import Diverged

NOTE_SECONDS = 5.0
MIN_SIDE, MAX_SIDE = 64, 8192  # pictures are made anew for a window's size within these, as in scenes.views.Film
CAMERA = VIEW + "camera."
REPORTED = (UserError, Diverged, OSError, ValueError)  # become a message in the window


@dataclass(frozen=True)
class Catalogue:
    """The scenes to go through, how one is read by name (may raise UserError), and where pictures and saved scenes go."""

    names: Sequence[str] = ()
    load: Callable[[str], Scene] | None = None
    recordings: Path = field(default_factory=lambda: Path("recordings"))


class Session:
    """The state behind the window. `frame` is the newest picture; `closing` says that the user wants to leave."""

    def __init__(
        self, scene: Scene, name: str, catalogue: Catalogue, *, size: tuple[int, int], at: float = 0.0, paused: bool = False
    ) -> None:
        """`at`: film time to begin at, seconds, rounded to a frame. Raises UserError or Diverged when the scene cannot begin."""
        self.name = name
        self.catalogue = catalogue
        self.panels = True
        self.help = False
        self.closing = False
        self.message: str | None = None
        self.frame = Frame(*size)
        self._begun = self._failed = self._stale = False
        self._note, self._note_until = "", 0.0
        self._perform(Stage(scene, size))
        self.player.paused = paused
        self.player.index = max(0, round(at * self.player.fps))

    @property
    def scene(self) -> Scene:
        """The scene as it was read."""
        return self.stage.scene

    def advance(self) -> None:
        """One frame of film further, unless paused or just begun; then the picture, if it is not what it was."""
        if self._begun and not self.player.paused:
            self.player.index += 1
            self._stale = True
        self._begun = True
        if self._stale:
            self._stale = False
            self._paint()

    def answer(self, gestures: Sequence[Gesture]) -> None:
        """Do what keys and mouse ask for. Whatever fails becomes the message."""
        for gesture in gestures:
            try:
                self._answer(gesture)
            except REPORTED as error:
                self._say(str(error))

    def hold(self, values: dict[str, float]) -> None:
        """Sliders were moved: these parameters stand above the timeline from now on."""
        if not values:
            return
        try:
            self.stage.set_parameters(values)
        except REPORTED as error:
            self._say(str(error))
        self._stale = True

    def resize(self, size: tuple[int, int]) -> None:
        """Make pictures of this size from now on, the run untouched; sizes that no picture can have are ignored."""
        if size == self.stage.size or min(size) < MIN_SIDE or max(size) > MAX_SIDE:
            return
        old, new = self.stage, Stage(self.scene, size, fps=self.stage.fps)
        for here, there in zip(new.panes, old.panes, strict=True):  # the runs move over; the fresh ones go with the old views
            here.experiment, there.experiment = there.experiment, here.experiment
        new.set_parameters({path: value for path, value in old.held.items() if path.startswith(VIEW)})
        old.release()
        self._use(new)

    def panel_state(self, rate: float) -> PanelState:
        """What the panels say now; `rate`: frames per second really shown."""
        names = list(self.catalogue.names)
        place = f" {names.index(self.name) + 1}/{len(names)}" if self.name in names else ""
        pace = "paused" if self.player.paused else f"{rate:.0f} frames/s"
        note = self._note if time.monotonic() < self._note_until else None
        plane = self.scene.view.kind == "plane"  # it fills all but the column of type; a globe leaves the corners free
        return PanelState(
            status=(self.name + place, f"{self.player.film_time:.2f} s   {pace}"),
            sliders=tuple(self._sliders()),
            corner="left" if plane and len(self.stage.panes) == 1 else "right",
            panels=self.panels,
            help=self.help,
            message=self.message,
            note=note,
        )

    def release(self) -> None:
        """Free the stage."""
        self.stage.release()

    def _perform(self, stage: Stage) -> None:
        """Put another scene on; its clock starts at 0."""
        self.player = Player(stage, stage.fps)
        self.view = ViewControl(stage)
        self._use(stage)
        self._begun = self._failed = False

    def _use(self, stage: Stage) -> None:
        self.stage = self.player.stage = self.view.stage = stage
        self._stale = True

    def _paint(self) -> None:
        """The current frame; when it cannot be made the last one stays, with the reason as a message, and time stops."""
        try:
            self.frame = self.player.current()
        except Diverged as error:
            self._fail(str(error))
        except Exception as error:  # a window in front of an audience must not vanish
            self._fail(f"{type(error).__name__}: {error}")
        else:
            self._failed = False

    def _fail(self, reason: str) -> None:
        self._failed = self.player.paused = True
        self._say(f"{reason}  (r: start again, n: next scene)")

    def _say(self, message: str | None) -> None:
        self.message = message

    def _tell(self, note: str) -> None:
        self._note, self._note_until = note, time.monotonic() + NOTE_SECONDS

    def _answer(self, gesture: Gesture) -> None:
        if isinstance(gesture, Action):
            self._act(gesture)
            return
        if isinstance(gesture, Drag):
            self.view.drag(gesture)
        elif isinstance(gesture, Zoom):
            self.view.zoom(gesture)
        elif isinstance(gesture, Band):
            self.view.zoom_to(gesture)
        self._stale = True

    def _act(self, action: Action) -> None:
        match action:
            case Action.PAUSE:
                self.player.paused = not self.player.paused
                self.message = None
            case Action.STEP:
                self.player.step()
                self._stale = True
            case Action.RESTART:
                self._restart()
            case Action.NEXT:
                self._switch(1)
            case Action.PREVIOUS:
                self._switch(-1)
            case Action.RESET_VIEW:
                self.view.reset()
                self._stale = True
            case Action.FOLLOW:
                self._follow()
            case Action.SCREENSHOT:
                self._screenshot()
            case Action.SAVE:
                self._save()
            case Action.PANELS:
                self.panels = not self.panels
            case Action.HELP:
                self.panels, self.help = True, not (self.help and self.panels)
            case Action.QUIT:
                self.closing = True

    def _restart(self) -> None:
        self.player.restart()
        self.view.keep()
        if self._failed:
            self.player.paused = False
        self.message = None
        self._begun, self._stale = False, True

    def _switch(self, by: int) -> None:
        names, load = list(self.catalogue.names), self.catalogue.load
        if not names or load is None:
            raise UserError("there is no other scene to go to")
        here = names.index(self.name) if self.name in names else (-1 if by > 0 else 0)
        name = names[(here + by) % len(names)]
        paused = self.player.paused and not self._failed
        try:
            stage = Stage(load(name), self.stage.size)
        except REPORTED as error:
            self.name = name  # so that the next press goes past it
            raise UserError(f"{name}: {error}") from None
        self.stage.release()
        self.name, self.message = name, None
        self._perform(stage)
        self.player.paused = paused

    def _follow(self) -> None:
        for path in [path for path in self.stage.held if not path.startswith(CAMERA)]:
            self.stage.let_go(path)
        self._stale = True

    def _screenshot(self) -> None:
        path = self._free_name(".png")
        sink = PngSink(path, text={"Title": self.scene.title, "Comment": f"{self.name}, film time {self.player.film_time:g} s"})
        sink.write(self.frame)
        sink.close()
        self._tell(f"picture: {path}")

    def _save(self) -> None:
        path = self._free_name(".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dump_scene(snapshot(self.stage)), encoding="utf-8")
        self._tell(f"scene: {path}")

    def _free_name(self, suffix: str) -> Path:
        """recordings/NAME-001.png, or the next number that no file has."""
        stem, number = Path(self.name).stem, 1
        while (path := self.catalogue.recordings / f"{stem}-{number:03d}{suffix}").exists():
            number += 1
        return path

    def _sliders(self) -> list[Slider]:
        held = self.stage.held
        found = _parameters(self.stage)
        last_names = [parameter.path.rsplit(".", 1)[-1] for parameter in found]
        sliders = []
        for parameter, last in zip(found, last_names, strict=True):
            label = last if last_names.count(last) == 1 else parameter.path
            value, live = self.stage.value_of(parameter.path), parameter.live
            sliders.append(
                Slider(parameter.path, label, min(live.low, value), max(live.high, value), value, parameter.path in held)
            )
        return sliders


def _parameters(stage: Stage) -> list[LiveParameter]:
    """What gets a slider: the live parameters of the systems, each once, and the view's own except what the mouse moves."""
    found: dict[str, LiveParameter] = {}
    for pane in stage.panes:
        for parameter in live_parameters(pane.scene.system):
            found.setdefault(parameter.path, parameter)
    for parameter in live_parameters(stage.scene.view, VIEW):
        if not parameter.path.startswith(CAMERA) or parameter.path == CAMERA + "spin":
            found.setdefault(parameter.path, parameter)
    return list(found.values())
