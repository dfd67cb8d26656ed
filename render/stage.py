"""What is seen at a film time: the experiments of a scene, a view of each, and type, numbers and curves over them.

One stage serves the window, recordings and stills: a frame is a function of the scene, the film time and what is held by
hand, whatever was shown before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from render.curves import Panels
from render.experiment import Experiment
from render.frame import Frame
from render.globe import GlobeView
from render.layout import Layout, Rect
from render.legend import Legends
from render.overlay import Overlay
from render.palette import BACKGROUND
from render.plane import PlaneView
from render.readout import key_numbers, shared
from render.timeline import own_value
from scenes import views
from scenes.load import resolve_panes
from scenes.spec import Scene
from sim.system import System

Size = tuple[int, int]
VIEW = "view."


@dataclass
class Pane:
    """One experiment, the view of it, and where on the picture it is. `frame` is the stage's own where there is one pane."""

    label: str
    experiment: Experiment
    view: Any  # GlobeView or PlaneView
    frame: Frame
    corner: tuple[int, int]  # column and row of its top left pixel

    @property
    def system(self) -> Any:
        return self.experiment.system

    @property
    def scene(self) -> Scene:
        """The scene of this pane alone."""
        return self.experiment.scene


class Stage:
    """Builds everything that `scene` describes, at `size` = (width, height) pixels and `fps` (defaults: the scene's film).

    `overlaid` may be switched at any time: False leaves title, caption, numbers and panels away.
    """

    def __init__(self, scene: Scene, size: Size | None = None, *, fps: float | None = None) -> None:
        self.scene = scene
        self.size: Size = size or scene.film.size
        self.fps = fps or scene.film.fps
        self.film_time = 0.0
        self.overlaid = True
        self.frame = Frame(*self.size)
        self._held_view: dict[str, float] = {}
        parts = resolve_panes(scene)
        layout = Layout(self.size, panes=len(parts), panels=len(scene.panels))
        self._overlay = Overlay(layout)
        self._panels = Panels(list(scene.panels), layout)
        self._legends = Legends(layout.unit)
        self.panes: list[Pane] = []
        if len(parts) == 1:  # the view fills the picture; only what is looked at keeps out of the type's way
            self.panes.append(self._pane(*parts[0], (0, 0), self.size, self.frame))
            self.view.inset = layout.inset
        else:
            for (label, part), (corner, cell) in zip(parts, cells(len(parts), layout.views), strict=True):
                self.panes.append(self._pane(label, part, corner, cell, Frame(*cell)))
        self._link_cameras()

    @property
    def systems(self) -> list[System]:
        """One system per pane."""
        return [pane.system for pane in self.panes]

    @property
    def system(self) -> Any:
        """The first pane's system."""
        return self.panes[0].system

    @property
    def view(self) -> Any:
        """The first pane's view."""
        return self.panes[0].view

    def show(self, film_time: float) -> Frame:
        """The picture at `film_time` seconds; the frame is painted over by the next call. Raises sim.system.Diverged."""
        self.film_time = film_time
        for pane in self.panes:
            pane.experiment.seek(film_time)
        return self.draw()

    def draw(self) -> Frame:
        """Paint the present moment again, without a step: a camera may have moved."""
        if len(self.panes) > 1:
            self.frame.fill(BACKGROUND)
        for pane in self.panes:
            moving = {**pane.experiment.moment.view, **self._held_view}
            if moving:
                pane.view.set_parameters(moving)
            pane.view.draw(pane.frame, pane.system, pane.experiment.shown_time, self.film_time)
            if pane.frame is not self.frame:
                self.frame.paste(pane.frame, *pane.corner)
        if self.overlaid:
            self._write()
        return self.frame

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """Hold live parameters above the timeline: paths within `system`, or within the view after `view.`.

        Panes that do not have a parameter are left alone. Raises KeyError when no pane has it.
        """
        for path, value in values.items():
            if path.startswith(VIEW):
                self._held_view[path.removeprefix(VIEW)] = value
                continue
            having = [pane.experiment for pane in self.panes if path in pane.experiment.own]
            if not having:
                raise KeyError(f"no system of this scene has a live parameter {path!r}")
            for experiment in having:
                experiment.set_parameters({path: value})

    def let_go(self, path: str | None = None) -> None:
        """Give a held parameter (default: every one) back to the timeline, or to the scene's own value."""
        for held in [key for key in self._held_view if path in (None, VIEW + key)]:
            del self._held_view[held]
            for pane in self.panes:
                pane.view.set_parameters({held: own_value(pane.scene.view, held)})
        for pane in self.panes:
            pane.experiment.let_go(path)

    @property
    def held(self) -> dict[str, float]:
        """Everything that is held now, paths as in `set_parameters`."""
        systems = {path: value for pane in self.panes for path, value in pane.experiment.overrides.items()}
        return {**systems, **{VIEW + path: value for path, value in self._held_view.items()}}

    def value_of(self, path: str) -> float:
        """What a live parameter is now, in the first pane that has it: held, keyframed, or the scene's own."""
        if path.startswith(VIEW):
            inner, first = path.removeprefix(VIEW), self.panes[0]
            moving = {**first.experiment.moment.view, **self._held_view}
            return moving[inner] if inner in moving else own_value(first.scene.view, inner)
        return next(pane.experiment for pane in self.panes if path in pane.experiment.own).value_of(path)

    def notices(self) -> list[str]:
        """What a viewer should know before trusting the picture, a sentence each, with the pane's label where there is one."""
        lines = [(pane.label, line) for pane in self.panes for line in pane.experiment.notices()]
        return [f"{label}: {line}" if label else line for label, line in lines]

    def reset(self) -> None:
        """Back to t = 0; held parameters stay held."""
        for pane in self.panes:
            pane.experiment.reset()
        self.film_time = 0.0

    def release(self) -> None:
        """Free all device memory. The stage must not be used afterwards."""
        for pane in self.panes:
            pane.view.release()
            pane.experiment.release()
        self.panes.clear()

    def _pane(self, label: str, scene: Scene, corner: tuple[int, int], size: Size, frame: Frame) -> Pane:
        experiment = Experiment(
            scene,
            fps=self.fps,
            size=size,
            measured="all" if scene.panels else "newest" if scene.system.kind == "attention" else "no",
            balance="balance" in scene.panels,
        )
        spec = scene.view
        if isinstance(spec, views.GlobeView) and spec.trails > 0:
            flow: Any = experiment.system
            flow.keep_wake(spec.trails)
        view = GlobeView(spec, size) if isinstance(spec, views.GlobeView) else PlaneView(spec, size)
        return Pane(label, experiment, view, frame, corner)

    def _link_cameras(self) -> None:
        """Panes that start from the same camera share it, so that turning one turns all."""
        first = self.panes[0]
        for pane in self.panes[1:]:
            mine, others = first.scene.view, pane.scene.view
            if isinstance(mine, views.GlobeView) and isinstance(others, views.GlobeView) and mine.camera == others.camera:
                pane.view.camera = first.view.camera

    def _write(self) -> None:
        """Type and curves over the finished views."""
        first = self.panes[0].experiment
        numbers = [
            key_numbers(run.system, run.history.newest, run.shown_time) for run in (pane.experiment for pane in self.panes)
        ]
        self._overlay.draw(self.frame, title=self.scene.title, caption=first.moment.caption, numbers=shared(numbers))
        for pane in self.panes:
            self._overlay.label(self.frame, pane.label, *pane.corner)
            if isinstance(pane.view, GlobeView):  # a plane says beside itself what its colours mean
                self._legends.draw(self.frame, pane.view.legends(pane.system), pane.view, pane.corner)
        self._panels.draw(self.frame, first.history.columns())


def cells(count: int, rect: Rect) -> list[tuple[tuple[int, int], Size]]:
    """Corner and size of `count` equal panes that fill `rect` (left, top, width, height) row by row, as square as can be."""
    x, y, width, height = rect
    columns = min(range(1, count + 1), key=lambda n: (-min(width // n, height // ceil(count / n)), n))
    w, h = width // columns, height // ceil(count / columns)
    left, top = x + (width - columns * w) // 2, y + (height - ceil(count / columns) * h) // 2
    return [((left + i % columns * w, top + i // columns * h), (w, h)) for i in range(count)]
