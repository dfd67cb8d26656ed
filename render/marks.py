"""What drives the tokens, drawn on the globe: the eigen-axes of every head, and arrows of drift, in the heads' colours.

Strokes are chains of small balls, drawn by the rasteriser of the tokens: smooth, with depth, the same bytes whatever the threads.

glyphs   At +e_k and -e_k of every theta_h (its symmetric part) an arc along the sphere whose length is |lambda_k|, centred on a
         filled disc where lambda_k > 0 and on an open ring where lambda_k < 0. The arcs of e_2 and e_3 point at e_1, that of e_1
         at e_2, |lambda_1| >= |lambda_2| >= |lambda_3|.
arrows   Great circles that start at the points of an even grid, their length the speed there.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import taichi as ti
import taichi.math as tm
from numpy.typing import NDArray

from render import palette
from render.legend import Legend
from render.scale import rounded_up
from scenes import views
from sim.attention.surface import Surface

Floats = NDArray[np.float64]
Stroke = tuple[Floats, int]
"""Points (n, 3) on the sphere, and an opaque colour word."""
THICKNESS = 0.0068  # half of a stroke's, in sphere radii
LONGEST_ARC, LONGEST_ARROW = 0.34, 0.24  # radians: half an eigen-axis' arc, and an arrow
GRID = 220  # points that arrows start from
MOST = 64  # heads whose glyphs are drawn where all are asked for; arrows of all heads: the first FAN
FAN = 6
NAMED = 8  # heads in a legend


class Marks:
    """The marks that `spec` asks for, on whichever system is drawn."""

    def __init__(self, spec: views.GlobeView) -> None:
        self.spec = spec
        self._grid = even_points(GRID)
        self._surface: Surface | None = None
        self._seen: Any = None
        self._points, self._words = np.empty((0, 3)), np.empty(0, np.uint32)
        self._notes: list[str] = []
        self._colors: Any = None
        self._sides: list[Any] = []

    def update(self, system: Any) -> None:
        """Bring the strokes to the system's newest state."""
        key = (id(system), system.step_index, system.theta().tobytes())
        if key == self._seen:
            return
        self._notes, strokes = [], []
        if self.spec.glyphs:
            strokes += self._glyphs(system)
        if self.spec.arrows != "none":
            strokes += self._arrows(system)
        self._points = np.concatenate([np.empty((0, 3)), *(points for points, _ in strokes)])
        self._words = np.concatenate([np.empty(0, np.uint32), *(np.full(len(p), word, np.uint32) for p, word in strokes)])
        self._seen = key

    def side(self, eye: Floats, front: bool) -> tuple[Any, Any]:
        """(points, colours) on the device as `Raster.draw` takes them: of the half of the globe towards the eye, or the other."""
        self._reserve(len(self._points))
        room, count = self._colors.shape[0], len(self._points)
        shown = np.full((room, 3), np.nan, np.float32)
        here = (self._points @ eye > 0) == front
        shown[:count][here] = self._points[here]
        words = np.zeros(room, np.uint32)
        words[:count] = self._words
        self._colors.from_numpy(words)
        self._sides[front].from_numpy(shown)
        return self._sides[front], self._colors

    def legend(self, system: Any) -> Legend:
        """Which colour is which head, and what the longest strokes stand for."""
        self.update(system)
        if self.spec.arrows == "flow" and not self.spec.glyphs:
            return Legend("flow", "", 0.0, 1.0, note=self._notes[0], entries=(("$v$", palette.PLAIN),))
        return heads_legend("head", self._heads(system), note="\n".join(self._notes))

    def release(self) -> None:
        """Free device memory."""
        self._colors = self._surface = None
        self._sides = []

    def _heads(self, system: Any) -> list[int]:
        """Numbers from 0 of the heads that are shown."""
        if isinstance(self.spec.arrows, int) and not self.spec.glyphs:
            return [self.spec.arrows - 1]
        if self.spec.heads == "all":
            return list(range(min(system.heads, MOST)))
        return [h - 1 for h in self.spec.heads if h <= system.heads]

    def _glyphs(self, system: Any) -> list[Stroke]:
        heads = self._heads(system)
        theta, colors = system.theta()[heads], head_words(system.heads)[heads]
        values, vectors = eigen_axes(theta)
        largest = rounded_up(float(np.abs(values).max()))
        self._notes.append(rf"$|\lambda| \leq {largest:g}$")
        thin = min(1.0, (8 / len(heads)) ** 0.25)  # many heads: smaller discs, so that they stay apart
        strokes: list[Stroke] = []
        for value, vector, word in zip(values, vectors, colors.tolist(), strict=True):
            for k in range(3):
                half = LONGEST_ARC * abs(value[k]) / largest
                for centre in (vector[:, k], -vector[:, k]):
                    strokes.append((axis_glyph(centre, vector[:, 1 if k == 0 else 0], half, bool(value[k] > 0), thin), word))
        return strokes

    def _arrows(self, system: Any) -> list[Stroke]:
        if self._surface is None or self._surface.flow is not system:
            self._surface = Surface(system, self._grid)
        drift: Callable[[int | None], Floats] = self._surface.drift
        which = self.spec.arrows
        heads: Sequence[int | None] = (
            [None] if which == "flow" else [which - 1] if isinstance(which, int) else self._heads(system)[:FAN]
        )
        words = [palette.pack(palette.PLAIN) if h is None else int(head_words(system.heads)[h]) for h in heads]
        drifts = [np.nan_to_num(drift(h), posinf=0.0, neginf=0.0) for h in heads]
        largest = rounded_up(max(float(np.linalg.norm(v, axis=1).max()) for v in drifts))
        self._notes.append(rf"$|v| \leq {largest:g}$")
        return [
            (arrow(p, v * (LONGEST_ARROW / largest)), word)
            for v_all, word in zip(drifts, words, strict=True)
            for p, v in zip(self._grid, v_all, strict=True)
        ]

    def _reserve(self, count: int) -> None:
        """Room for that many points, in steps of a quarter, so that arrays are seldom made anew."""
        if self._colors is None or self._colors.shape[0] < count:
            room = max(1024, count + count // 4)
            self._colors = ti.ndarray(ti.u32, room)
            self._sides = [ti.ndarray(tm.vec3, room) for _ in range(2)]


def head_words(heads: int) -> NDArray[np.uint32]:
    """(H,) opaque words of the heads' colours."""
    return palette.pack_many(palette.head_colors(heads))


def heads_legend(label: str, heads: Sequence[int], note: str = "") -> Legend:
    """Which colour is which head, numbered from 1; heads beyond the first few are only said to be there."""
    shown = heads if len(heads) <= NAMED + 1 else heads[:NAMED]
    colors = palette.head_colors(max(heads, default=0) + 1).tolist()
    entries: list[tuple[str, palette.Color | None]] = [(f"${h + 1}$", tuple(colors[h])) for h in shown]
    if len(shown) < len(heads):
        entries.append((r"$\cdots$", None))
    return Legend(label, "", 0.0, 1.0, note=note, entries=tuple(entries))


def eigen_axes(theta: Floats) -> tuple[Floats, Floats]:
    """(H, 3) eigenvalues of the symmetric parts, largest modulus first, and (H, 3, 3) eigenvectors as columns, of fixed sign."""
    values, vectors = np.linalg.eigh((theta + theta.transpose(0, 2, 1)) / 2)
    order = np.argsort(-np.abs(values), axis=1, kind="stable")
    return np.take_along_axis(values, order, 1), np.take_along_axis(vectors, order[:, None, :], 2)


def even_points(count: int) -> Floats:
    """(count, 3) points of a Fibonacci spiral: about equal areas around each."""
    i = np.arange(count) + 0.5
    z, phi = 1 - 2 * i / count, i * np.pi * (3 - np.sqrt(5))
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(phi), r * np.sin(phi), z], axis=1)


def axis_glyph(centre: Floats, towards: Floats, half: float, positive: bool, size: float) -> Floats:
    """Points of one end of an eigen-axis; `half` is half the arc's angle, `towards` orthogonal to the centre."""
    radius = size * (2.4 if positive else 3.2) * THICKNESS
    parts = [ring(centre, r) for r in ((0.0, radius / 2, radius) if positive else (radius,))]
    if half > radius:
        a = np.linspace(radius, half, max(2, round((half - radius) / THICKNESS)))
        for side in (1, -1):
            parts.append(np.cos(a)[:, None] * centre + side * np.sin(a)[:, None] * towards)
    return np.concatenate(parts)


def ring(centre: Floats, radius: float) -> Floats:
    """Points of a small circle about a unit vector, a stroke's half thickness apart; the centre alone for radius 0."""
    u = np.eye(3)[np.argmin(np.abs(centre))]
    u = u - (u @ centre) * centre
    u /= np.linalg.norm(u)
    a = np.linspace(0, 2 * np.pi, max(1, round(2 * np.pi * radius / THICKNESS)), endpoint=False)[:, None]
    rim = np.cos(a) * u + np.sin(a) * np.cross(centre, u)
    return np.asarray(np.cos(radius) * centre + np.sin(radius) * rim)


def arrow(start: Floats, v: Floats) -> Floats:
    """Points of an arrow that follows the great circle from `start` along the tangent vector v for |v| radians; none if short."""
    length = float(np.linalg.norm(v))
    if length < 2 * THICKNESS:
        return np.empty((0, 3))
    along = v / length
    a = np.linspace(0, length, round(length / THICKNESS) + 1)[:, None]
    shaft = np.cos(a) * start + np.sin(a) * along
    tip, heading = shaft[-1], np.cos(length) * along - np.sin(length) * start
    side = np.cross(tip, heading)
    barb = min(0.4 * length, 0.055)
    b = np.linspace(0, barb, max(2, round(barb / THICKNESS)))[1:, None]
    barbs = [np.cos(b) * tip + np.sin(b) * (-0.82 * heading + s * 0.57 * side) for s in (1, -1)]
    return np.concatenate([shaft, *barbs])
