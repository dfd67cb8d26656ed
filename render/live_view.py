"""Moving the view by hand: turning and zooming globes, panning and zooming planes, all panes together."""

from collections.abc import Callable
from typing import Any

from render.camera import OrbitCamera, PlaneCamera
from render.globe import GlobeView
from render.live_input import Band, Drag, Zoom
from render.stage import VIEW, Pane, Stage
from scenes.two_factor import TwoFactorPlane

CAMERA = VIEW + "camera."
ANGLES = ("azimuth", "elevation", "zoom")


class ViewControl:
    """Answers gestures on one scene. Globes share one camera and planes one window: what moves one moves all.

    `stage` may be exchanged for one of another size.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._window: tuple[tuple[float, float], float] | None = None  # centre and width, once moved by hand

    def keep(self) -> None:
        """After the systems went back to t = 0, and with that to the scene's window: where the user looks stays."""
        if self._window is not None:
            self._set_window(*self._window)

    def drag(self, gesture: Drag) -> None:
        """Turn the globe, or move the plane, that lies under the place where the drag began."""
        pane = self._pane_at(gesture.x, gesture.y)
        if isinstance(pane.view, GlobeView):
            self._move_camera(lambda camera: camera.drag(gesture.dx, gesture.dy, pane.frame.height))
        else:
            self._move_plane(pane, lambda camera: camera.pan(gesture.dx, gesture.dy))

    def zoom(self, gesture: Zoom) -> None:
        """Magnify: a globe about its centre, a plane about the pointer."""
        pane = self._pane_at(gesture.x, gesture.y)
        if isinstance(pane.view, GlobeView):
            self._move_camera(lambda camera: camera.zoom_by(gesture.factor))
        else:
            x, y = self._inside(pane, gesture.x, gesture.y)
            self._move_plane(pane, lambda camera: camera.zoom(gesture.factor, x, y))

    def zoom_to(self, gesture: Band) -> None:
        """Fit a rectangle of the plane into the picture; a globe is magnified by the rectangle's share of the picture."""
        pane = self._pane_at(gesture.x0, gesture.y0)
        if isinstance(pane.view, GlobeView):
            share = max(abs(gesture.x1 - gesture.x0) / pane.frame.width, abs(gesture.y1 - gesture.y0) / pane.frame.height)
            self._move_camera(lambda camera: camera.zoom_by(1 / share))
        else:
            corners = *self._inside(pane, gesture.x0, gesture.y0), *self._inside(pane, gesture.x1, gesture.y1)
            self._move_plane(pane, lambda camera: camera.zoom_to(*corners))

    def reset(self) -> None:
        """The camera and the window that the scene itself has."""
        for name in ANGLES:
            if CAMERA + name in self.stage.held:
                self.stage.let_go(CAMERA + name)
        self._window = None
        for pane in self._planes():
            spec = pane.scene.system
            if isinstance(spec, TwoFactorPlane):
                pane.system.set_window(spec.window.center, spec.window.width)

    def _pane_at(self, x: float, y: float) -> Pane:
        """The pane under a pixel, else the first."""
        for pane in self.stage.panes:
            column, row = x - pane.corner[0], y - pane.corner[1]
            if 0 <= column < pane.frame.width and 0 <= row < pane.frame.height:
                return pane
        return self.stage.panes[0]

    def _planes(self) -> list[Pane]:
        return [pane for pane in self.stage.panes if not isinstance(pane.view, GlobeView)]

    def _move_camera(self, move: Callable[[OrbitCamera], None]) -> None:
        camera = OrbitCamera(*(self.stage.value_of(CAMERA + name) for name in ANGLES))
        before = {name: getattr(camera, name) for name in ANGLES}
        move(camera)
        moved = {CAMERA + name: getattr(camera, name) for name in ANGLES if getattr(camera, name) != before[name]}
        self.stage.set_parameters(moved)

    def _move_plane(self, pane: Pane, move: Callable[[PlaneCamera], PlaneCamera]) -> None:
        camera = move(pane.view.camera(pane.system))
        self._window = camera.center, camera.width
        self._set_window(*self._window)

    def _set_window(self, center: tuple[float, float], width: float) -> None:
        for pane in self._planes():
            pane.system.set_window(center, width)

    @staticmethod
    def _inside(pane: Pane, x: float, y: float) -> tuple[Any, Any]:
        """Pixel coordinates within the part of the picture that shows the plane."""
        left, top = pane.view.area.corner
        return x - pane.corner[0] - left, y - pane.corner[1] - top
