"""Dense grids of orbits of Phi_mu over a window of a plane of starts: one outcome and a few numbers per grid point.

What runs along the axes is one of `axes.AXES`: (a, b) themselves, or any other two parameters. Arrays are [row, column], row
0 is the top (see `window.Window`). Nothing is computed before it is asked for: orbits are swept when an outcome or a channel
is wanted and a parameter has changed since; each channel is then one pass over what was kept of them (`results`). Outside
|mu| < 2 nothing else is known to be exact; inside, the ellipse judges the grid (`diagnostics`).

How many iterations the ellipse needs. It repels: a start at distance delta outside is carried off as delta exp(lambda k),
lambda = `theory.lambda_perp(mu)` on average, with the fluctuations of a chaotic average, and a few cubic steps end it. So
escape takes about log(size/delta)/lambda steps, delta >= one pixel, and some more for the unluckiest of the thousands of
starts along the edge: log(W)/lambda is 7, 8 and 20 for W = 1024 and mu = 0.5, 1.1, 1.9. Measured, the last start further
than one pixel outside [-2.6, 2.6]^2 escaped after 14, 17 and 35 steps at 1024^2 (18, 20, 41 at 2048^2; 69 and 97 at
mu = 1.98); with so many iterations no grid point is misclassified, in f32 or f64, nor is any inside the ellipse ever lost.
Two and a half times log(W)/lambda is a safe rule. Landing takes longer, near a^2 + b^2 = 2 without bound: 400 iterations
leave 1 grid point in 1000 undecided at mu = 0.5. A zoom needs more of both, in proportion to its depth in octaves:
`DEPTH_STEPS` for each, which at mu = 1.9 is four times what the ellipse needs.
"""

import math
from collections.abc import Mapping

import numpy as np
import taichi as ti
from numpy.typing import NDArray

from sim import runtime
from sim.system import Row
from sim.two_factor import theory
from sim.two_factor.axes import AXES, Axes, Fixed, Names
from sim.two_factor.channels import BOUNDED, ESCAPED, LANDED, NO_START, PERIOD2, UNDECIDED
from sim.two_factor.results import CHANNELS, LABELS, Results
from sim.two_factor.starts import MAX_MU
from sim.two_factor.sweep import Ends, Job
from sim.two_factor.window import Window

__all__ = ["BOUNDED", "CHANNELS", "ESCAPED", "LABELS", "LANDED", "NO_START", "PERIOD2", "UNDECIDED", "Plane"]

LYAPUNOV_STEPS = 16  # the default horizon of the local exponents: longer ones have structure finer than a pixel
WEB_STEPS = 6
COUNTS = ("iterations", "lyapunov_steps", "web_steps")
WIDEST = 2.0  # depth counts from windows of this width, about the size of the ellipse
DEPTH_STEPS = 8  # more iterations for every octave of depth


class Plane:
    """Orbits of Phi_mu from every point of a window of a plane. A `System` whose step moves the film's clock alone.

    mu: any real number with |mu| <= 1e6. axes: one of `axes.AXES`. center, width: the window, in units of the axes. size:
    (W, H) grid points. iterations: steps per orbit at most, for a window of width 2 or more; each octave of zoom adds
    DEPTH_STEPS. precision: "f32", "f64", or "auto": f32 while a pixel is wide enough for it. dt: one film frame.
    lyapunov_steps: horizon of the local exponents. web_steps: the landing web's last k. start: the fixed x and w, prompt:
    the fixed g and y, of `axes.Fixed`. Raises ValueError, naming the value, for what is out of range.
    """

    kind = "two_factor_plane"

    def __init__(
        self,
        *,
        mu: float,
        axes: Names = ("a", "b"),
        center: tuple[float, float] = (0.0, 0.0),
        width: float = 5.2,
        size: tuple[int, int],
        iterations: int,
        precision: str = "auto",
        dt: float = 1 / 30,
        lyapunov_steps: int = LYAPUNOV_STEPS,
        web_steps: int = WEB_STEPS,
        start: tuple[float, float] = (1.0, 0.0),
        prompt: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        if tuple(axes) not in AXES:
            known = ", ".join(f"({x}, {y})" for x, y in AXES)
            raise ValueError(f"axes must be one of {known}, not {axes!r}")
        if precision not in ("auto", "f32", "f64"):
            raise ValueError(f"precision must be auto, f32 or f64, not {precision!r}")
        if not dt > 0:
            raise ValueError(f"dt must be positive, not {dt!r}")
        self.kind_of_axes: Axes = AXES[axes[0], axes[1]]
        self.precision, self.dt = precision, float(dt)
        self.step_index = 0
        counts = {"iterations": iterations, "lyapunov_steps": lyapunov_steps, "web_steps": web_steps}
        fixed = {"start.x": start[0], "start.w": start[1], "prompt.g": prompt[0], "prompt.y": prompt[1]}
        where = {"window.width": width, "window.center.0": center[0], "window.center.1": center[1]}
        self._first = _checked({"mu": mu, **counts, **fixed, **where})
        self._values = self._first
        self.window = _window(self._values, (int(size[0]), int(size[1])))
        self._results = Results()

    # --- the system's protocol ---

    @property
    def time(self) -> float:
        """Film time in seconds."""
        return self.step_index * self.dt

    def step(self) -> None:
        """One film frame later. Orbits depend on the parameters alone."""
        self.step_index += 1

    def reset(self) -> None:
        """Back to t = 0 and to the parameters of the beginning (the grid's size stays)."""
        self.step_index = 0
        self.set_parameters(self._first)

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """`mu`, `iterations`, `lyapunov_steps`, `web_steps`, `start.x`, `start.w`, `prompt.g`, `prompt.y`, `window.width`,
        `window.center.0`, `window.center.1`; nothing recompiles.

        Counts are rounded. Raises ValueError for an unknown name or a value out of range, and changes nothing then.
        """
        unknown = [name for name in values if name not in self._first]
        if unknown:
            raise ValueError(f"a plane has no parameter {unknown[0]!r}; it has {', '.join(self._first)}")
        new = _checked(self._values | dict(values))
        if new != self._values:
            self.window = _window(new, self.size)
            self._values = new
            self._results.invalidate()

    def diagnostics(self) -> Row:
        """The row of the `run` table: what the grid says beside what the ellipse says.

        mu: None where it runs along an axis; bounded_fraction: share of the starts that did not escape; bounded_area: the same
        in units of the (a, b) plane's area, None for other axes; ellipse_area: exact, None there too and for |mu| >= 2;
        misclassified: see `misclassified`, None where no start has |mu| < 2.
        """
        label = self.outcome().to_numpy()
        bounded, exists = label > ESCAPED, label > NO_START
        own, exact = self.kind_of_axes.code == 0, self.kind_of_axes.moves_mu or abs(self.mu) < 2
        return {
            "t": self.time,
            "mu": self.shown_mu,
            "bounded_fraction": int(np.count_nonzero(bounded)) / max(int(np.count_nonzero(exists)), 1),
            "bounded_area": int(np.count_nonzero(bounded)) * self.pixel**2 if own else None,
            "ellipse_area": theory.ellipse_area(self.mu) if own and exact else None,
            "misclassified": self.misclassified(bounded) if exact else None,
        }

    def release(self) -> None:
        """Free the grids."""
        self._results.release()

    # --- parameters and window ---

    @property
    def mu(self) -> float:
        """The map's parameter, where it is fixed."""
        return self._values["mu"]

    @property
    def shown_mu(self) -> float | None:
        """The map's parameter; None where it differs from point to point."""
        return None if self.kind_of_axes.moves_mu else self.mu

    @property
    def axes(self) -> Names:
        """What runs along x and along y."""
        return self.kind_of_axes.names

    @property
    def fixed(self) -> Fixed:
        """The parameters that do not run along an axis."""
        values = self._values
        return Fixed(self.mu, values["start.x"], values["start.w"], values["prompt.g"], values["prompt.y"])

    @property
    def iterations(self) -> int:
        """Steps per orbit at most, at the window's depth."""
        octaves = max(0.0, math.log2(WIDEST / self.width))
        return int(self._values["iterations"]) + math.ceil(DEPTH_STEPS * octaves)

    @property
    def lyapunov_steps(self) -> int:
        """Horizon of the local Lyapunov exponents, in steps."""
        return int(self._values["lyapunov_steps"])

    @property
    def web_steps(self) -> int:
        """The largest k of the landing web."""
        return int(self._values["web_steps"])

    @property
    def center(self) -> tuple[float, float]:
        """(x, y) of the window's centre."""
        return self.window.center

    @property
    def width(self) -> float:
        """Width of the window, in units of the plane; its height is width H/W."""
        return self.window.width

    @property
    def size(self) -> tuple[int, int]:
        """(W, H) grid points."""
        return self.window.size

    @property
    def pixel(self) -> float:
        """Side of a grid square, in units of the plane."""
        return self.window.pixel

    @property
    def working_precision(self) -> str:
        """f32 or f64: what the next sweep computes in. Backends without f64 stay at f32 whatever was asked."""
        if not runtime.machine().f64 or self.precision == "f32":
            return "f32"
        return "f32" if self.precision == "auto" and self._enough("f32") else "f64"

    @property
    def resolved(self) -> bool:
        """Is a pixel wide enough for the working precision? If not, the picture shows rounding: say so."""
        return self._enough(self.working_precision)

    def set_window(self, center: tuple[float, float], width: float) -> None:
        """Look elsewhere: centre and width, in units of the plane."""
        self.set_parameters({"window.center.0": center[0], "window.center.1": center[1], "window.width": width})

    def set_size(self, size: tuple[int, int]) -> None:
        """(W, H) grid points from now on."""
        window = _window(self._values, (int(size[0]), int(size[1])))
        if window != self.window:
            self.window = window
            self.release()

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """x of every column (W,) and y of every row (H,), float64."""
        return self.window.points()

    def starts(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """(a, b, mu) of every grid point, (H, W) float64, NaN where there is no start."""
        x, y = self.points()
        a, b, mu = np.broadcast_arrays(*self.kind_of_axes.start(x[None, :], y[:, None], self.fixed))
        return a, b, mu

    # --- what is computed ---

    def outcome(self) -> ti.Ndarray:
        """(H, W) i32 of `LABELS`. Valid until the next change of a parameter."""
        return self._results.outcome(self._job)

    def channel(self, name: str) -> ti.Ndarray:
        """(H, W) f32, valid until the next change of a parameter; names and meanings are those of `CHANNELS`."""
        return self._results.channel(name, self._job, self.lyapunov_steps, self.web_steps)

    def sweep_ends(self) -> Ends:
        """The states where orbits stopped, on the device (see `sweep.Ends`): for whoever goes on from them."""
        return self._results.ends(self._job)

    def misclassified(self, bounded: np.ndarray) -> int:
        """Points of the (H, W) mask on the wrong side of the exact ellipse, and not within one pixel of it.

        Within one pixel: nearer than that in the (a, b) plane; for other axes, with a point of the exact other side, or with
        none that the ellipse judges (no start, |mu| >= 2), among the eight neighbours.
        """
        a, b, mu = self.starts()
        with np.errstate(invalid="ignore"):
            inside = a * a + b * b < 4 + mu * (a * b - mu)
            judged = np.isfinite(a) & (np.abs(mu) < 2)
        wrong = (bounded != inside) & judged
        if self.kind_of_axes.code == 0:
            return int(np.count_nonzero(np.abs(theory.ellipse_distance(a[wrong], b[wrong], self.mu)) > self.pixel))
        side = np.where(judged, inside.astype(np.int8), np.int8(2))
        around = np.pad(side, 1, mode="edge")
        rows, columns = side.shape
        alike = np.ones(side.shape, bool)
        for i in range(3):
            for j in range(3):
                alike &= around[i : i + rows, j : j + columns] == side
        return int(np.count_nonzero(wrong & alike))

    def _enough(self, precision: str) -> bool:
        """Other axes than a and b reach states of size 1 from anywhere."""
        return self.window.enough(precision, 0.0 if self.kind_of_axes.code == 0 else 1.0)

    @property
    def _job(self) -> Job:
        return Job(self.window, self.kind_of_axes, self.fixed, self.iterations, self.working_precision)


def _checked(values: dict[str, float]) -> dict[str, float]:
    """The parameters, counts rounded. Raises ValueError for the first one out of range (the window checks its own)."""
    for name, value in values.items():
        if isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, not {value!r}")
    if abs(values["mu"]) > MAX_MU:
        raise ValueError(f"mu must be within +-{MAX_MU:g}, not {values['mu']!r}")
    for name in COUNTS:
        if not 1 <= round(values[name]) < 2**30:
            raise ValueError(f"{name} must be 1 to 2^30, not {values[name]!r}")
    if not values["prompt.g"] > 0:
        raise ValueError(f"prompt.g must be positive, not {values['prompt.g']!r}")
    return {name: float(round(value) if name in COUNTS else value) for name, value in values.items()}


def _window(values: dict[str, float], size: tuple[int, int]) -> Window:
    return Window((values["window.center.0"], values["window.center.1"]), values["window.width"], size)
