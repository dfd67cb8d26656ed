"""Moving the view by hand: turning and zooming globes, panning and zooming planes, all panes together."""

from collections.abc import Callable
from typing import Any

from render.camera import OrbitCamera, PlaneCamera
from render.globe import GlobeView
from render.live_input import Band, Drag, Zoom
from render.stage import VIEW, Pane, Stage

CAMERA = VIEW + "camera."
ANGLES = ("azimuth", "elevation", "zoom")


class ViewControl:
    """Answers gestures on one stage. Globes share one camera and planes one window: what moves one moves all."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

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
        """Fit a rectangle of the plane into the picture; a globe has none, so it is magnified by the rectangle's share of the picture."""
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
            if CAMERA + name in self._stage.held:
                self._stage.let_go(CAMERA + name)
        for pane in self._planes():
            window = pane.scene.system.window
            pane.system.set_window(window.center, window.width)

    def _pane_at(self, x: float, y: float) -> Pane:
        """The pane under a pixel, else the first."""
        for pane in self._stage.panes:
            column, row = x - pane.corner[0], y - pane.corner[1]
            if 0 <= column < pane.frame.width and 0 <= row < pane.frame.height:
                return pane
        return self._stage.panes[0]

    def _planes(self) -> list[Pane]:
        return [pane for pane in self._stage.panes if not isinstance(pane.view, GlobeView)]

    def _move_camera(self, move: Callable[[OrbitCamera], None]) -> None:
        camera = OrbitCamera(*(self._stage.value_of(CAMERA + name) for name in ANGLES))
        before = {name: getattr(camera, name) for name in ANGLES}
        move(camera)
        moved = {CAMERA + name: getattr(camera, name) for name in ANGLES if getattr(camera, name) != before[name]}
        self._stage.set_parameters(moved)

    def _move_plane(self, pane: Pane, move: Callable[[PlaneCamera], PlaneCamera]) -> None:
        camera = move(pane.view.camera(pane.system))
        for other in self._planes():
            other.system.set_window(camera.center, camera.width)

    @staticmethod
    def _inside(pane: Pane, x: float, y: float) -> tuple[Any, Any]:
        """Pixel coordinates within the part of the picture that shows the plane."""
        left, top = pane.view.area.corner
        return x - pane.corner[0] - left, y - pane.corner[1] - top
