"""One system on its way through a film: built from its scene, stepped on its own grid, moved by its timeline, measured.

The only place that knows both a scene's words and the constructors of `sim`; a stage adds pictures, `run` adds nothing.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray
from pydantic import BaseModel

from render.history import History
from render.timeline import Moment, Timeline
from scenes.attention import AttentionSystem, Tokens
from scenes.load import UserError
from scenes.spec import Scene
from scenes.two_factor import TwoFactorPlane
from sim import runtime
from sim.attention.flow import AttentionFlow
from sim.attention.tokens import cloud, from_file
from sim.attention.weights import SCHEDULES
from sim.system import System
from sim.two_factor.plane import Plane

PURPOSES = ("tokens", "weights")  # order is part of what a seed means: add new ones at the end
PROBED = 100  # steps between two estimates of a step's error: 11 evaluations of 400, with RK4
TOUCHING = 1e-6  # a grid time this close (in steps) before a frame's time counts as that frame's time


class Experiment:
    """A system, its timeline and its diagnostics. `scene` is the pane's own scene where there are panes.

    An attention system has its own clock: system time is film time times `film.speed`, on the grid t_k = k dt whatever
    the frame rate. A plane has no history: it steps once per film frame and its parameters belong to the film time.
    `measured`: diagnostics are taken on the grid, about once per film frame; `history` keeps the newest or, with "all",
    every one since t = 0. `balance`: track the residuals. Raises UserError for a data file that cannot be used.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        fps: float,
        size: tuple[int, int] | None = None,
        measured: Literal["no", "newest", "all"] = "no",
        balance: bool = False,
    ) -> None:
        self.scene = scene
        self.fps = fps
        self.speed = scene.film.speed
        self.timeline = Timeline(scene)
        self.own = numbers(scene.system)  # path -> the scene's own value
        self.overrides: dict[str, float] = {}  # set by hand: they stand above the timeline
        self.measured = measured
        self.history = History()
        self.film_time = 0.0
        self.stateless = isinstance(scene.system, TwoFactorPlane)
        self.system = build_system(scene, fps=fps, size=size or scene.film.size, balance=balance)
        per_frame = 1 if self.stateless else self.speed / (fps * self.system.dt)
        self.every = max(1, round(per_frame))  # steps between two rows
        self._restart()

    @property
    def moment(self) -> Moment:
        """What the timeline says at the film time that was last asked for, overrides not included."""
        return self.timeline.values_at(self.film_time)

    @property
    def shown_time(self) -> float:
        """System time of the picture: film time x speed. The newest state is at or less than one dt after it."""
        return self.film_time * self.speed

    def seek(self, film_time: float) -> None:
        """Step to the first grid state at or past `film_time` (seconds, >= 0); an earlier one is reached by replaying from 0.

        The result depends on `film_time` alone, not on the way there. Raises sim.system.Diverged.
        """
        wanted = self.index_at(film_time)
        if wanted < self.system.step_index:
            self._restart()
        while self.system.step_index < wanted:
            self.step()
            if self.measured == "all" or self.system.step_index + self.every > wanted:
                self._measure()
        self.film_time = film_time
        if self.stateless:
            self._apply(film_time)

    def step(self) -> None:
        """One dt, then the parameters of the new grid time."""
        self.system.step()
        self._apply(self.film_time_of(self.system.step_index))

    def reset(self) -> None:
        """Back to t = 0; what was set by hand stays."""
        self._restart()
        self.film_time = 0.0

    def index_at(self, film_time: float) -> int:
        """The first k whose grid time t_k is not before `film_time`."""
        if self.stateless:
            return math.ceil(film_time * self.fps - TOUCHING)
        return max(0, math.ceil(film_time * self.speed / self.system.dt - TOUCHING))

    def steps_until(self, time: float) -> int:
        """The last k whose grid time t_k is not after the system time `time`."""
        return math.floor(time / self.system.dt + TOUCHING)

    def film_time_of(self, index: int) -> float:
        """Film time of the grid time t_k, seconds; 0 for a frozen film (speed 0), whose parameters stay as they start."""
        if self.stateless:
            return index / self.fps
        return index * self.system.dt / self.speed if self.speed > 0 else 0.0

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """Set parameters of the system by hand, from now on and above the timeline. KeyError or ValueError as the system's."""
        self.system.set_parameters(values)
        self.overrides.update(values)

    def let_go(self, path: str | None = None) -> None:
        """Give a parameter set by hand (default: every one) back to the timeline, or to the scene's own value."""
        for held in [key for key in self.overrides if path in (None, key)]:
            del self.overrides[held]
            self.system.set_parameters({held: self.value_of(held)})

    def value_of(self, path: str) -> float:
        """What a live parameter of the system is at the present film time: set by hand, keyframed, or the scene's own."""
        if path in self.overrides:
            return self.overrides[path]
        keyframed = self.moment.system
        return keyframed[path] if path in keyframed else self.own[path]

    def notices(self) -> list[str]:
        """What a viewer should know before trusting the numbers, a sentence each."""
        return self.system.notices() if isinstance(self.system, AttentionFlow) else []

    def release(self) -> None:
        self.system.release()

    def _restart(self) -> None:
        self.system.reset()
        self.history.clear()
        self._apply(0.0)
        self._measure()

    def _apply(self, film_time: float) -> None:
        values = {**self.timeline.values_at(film_time).system, **self.overrides}
        if values:
            self.system.set_parameters(values)

    def _measure(self) -> None:
        """Take a row where one is due."""
        if self.measured == "no" or self.system.step_index % self.every:
            return
        if self.measured == "newest":
            self.history.clear()
        self.history.append(self.system.diagnostics())


def numbers(spec: Any, prefix: str = "") -> dict[str, float]:
    """Every number in a part of a scene by its dotted path, entries of lists by their position: {"window.center.0": 0.0}."""
    if isinstance(spec, int | float) and not isinstance(spec, bool):
        return {prefix: float(spec)}
    inner: Iterable[tuple[Any, Any]] = (
        spec if isinstance(spec, BaseModel) else enumerate(spec) if isinstance(spec, list | tuple) else ()
    )
    found: dict[str, float] = {}
    for name, value in inner:  # a pydantic model iterates over (name, value)
        found |= numbers(value, f"{prefix}.{name}" if prefix else str(name))
    return found


def generators(seed: int) -> dict[str, Generator]:
    """One independent stream per purpose, so that for instance more heads do not move the tokens."""
    streams = SeedSequence(seed).spawn(len(PURPOSES))
    return {purpose: Generator(PCG64(stream)) for purpose, stream in zip(PURPOSES, streams, strict=True)}


def build_system(scene: Scene, *, fps: float, size: tuple[int, int], balance: bool) -> System:
    """The system that `scene.system` describes; `size` is the picture's, for a plane. Raises UserError for a bad data file."""
    spec = scene.system
    if isinstance(spec, AttentionSystem):
        return _attention(spec, generators(scene.seed), balance)
    return Plane(
        mu=spec.mu,
        axes=spec.axes,
        center=spec.window.center,
        width=spec.window.width,
        size=size,
        iterations=spec.iterations,
        precision=spec.precision,
        dt=(scene.film.speed or 1.0) / fps,  # frozen or not, a plane's frames are its steps
    )


def _attention(spec: AttentionSystem, streams: Mapping[str, Generator], balance: bool) -> AttentionFlow:
    law: dict[str, Any] = spec.weights.model_dump(exclude={"kind"}, exclude_none=True)
    try:
        schedule = SCHEDULES[spec.weights.kind](heads=spec.heads, rng=streams["weights"], dt=spec.dt, **law)
    except ValueError as error:
        raise UserError(f"system.weights: {error}") from error
    x = _cloud(spec.tokens, streams["tokens"])
    try:
        return AttentionFlow(
            x,
            schedule,
            flow=spec.flow,
            sign=spec.sign,
            integrator=spec.integrator,
            dt=spec.dt,
            precision=_precision(spec),
            cluster_cosine=spec.cluster_cosine,
            track_balance=balance,
            probe_every=PROBED,
        )
    except ValueError as error:
        raise UserError(f"system.integrator: {error}") from error


def _precision(spec: AttentionSystem) -> str:
    """What `auto` means: f32, but minimizing movements compare energies, whose differences f32 loses."""
    if spec.precision != "auto":
        return spec.precision
    return "f64" if spec.integrator == "jko" and runtime.machine().f64 else "f32"


def _cloud(spec: Tokens, stream: Generator) -> NDArray[np.float64]:
    if spec.file is None:
        return cloud(spec.start, spec.count, stream, noise=spec.noise, angle=spec.angle, axis=spec.axis)
    try:
        return from_file(Path(spec.file))
    except ValueError as error:
        raise UserError(f"system.tokens.file: {error}") from error
