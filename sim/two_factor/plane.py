"""Dense grids of orbits of Phi_mu over a window of the (a, b) plane: one outcome and a few numbers per grid point.

Arrays are [row, column], row 0 is the top (see `window.Window`). Nothing is computed before it is asked for: orbits are
swept when an outcome or a channel is wanted and a parameter has changed since; each channel is then one pass over what was
kept of them. Outside |mu| < 2 nothing else is known to be exact; inside, the ellipse judges the grid (`diagnostics`).

How many iterations the ellipse needs. It repels: a start at distance delta outside is carried off as delta exp(lambda k),
lambda = `theory.lambda_perp(mu)` on average, with the fluctuations of a chaotic average, and a few cubic steps end it. So
escape takes about log(size/delta)/lambda steps, delta >= one pixel, and some more for the unluckiest of the thousands of
starts along the edge: log(W)/lambda is 7, 8 and 20 for W = 1024 and mu = 0.5, 1.1, 1.9. Measured, the last start further
than one pixel outside [-2.6, 2.6]^2 escaped after 14, 17 and 35 steps at 1024^2 (18, 20, 41 at 2048^2; 69 and 97 at
mu = 1.98); with so many iterations no grid point is misclassified, in f32 or f64, nor is any inside the ellipse ever lost.
Two and a half times log(W)/lambda is a safe rule. Landing takes longer, near a^2 + b^2 = 2 without bound: 400 iterations
leave 1 grid point in 1000 undecided at mu = 0.5.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import taichi as ti

from sim import runtime
from sim.system import Row
from sim.two_factor import channels, theory
from sim.two_factor.channels import BOUNDED, ESCAPED, LANDED, PERIOD2, UNDECIDED
from sim.two_factor.sweep import ESCAPE_RADIUS, LANDING_TOLERANCE, Ends, Job, Sweep
from sim.two_factor.window import Window

__all__ = ["BOUNDED", "CHANNELS", "ESCAPED", "LABELS", "LANDED", "PERIOD2", "UNDECIDED", "Plane"]

LABELS = {
    ESCAPED: "escaped: a^2 + b^2 passed R^2",
    UNDECIDED: "undecided: neither escaped nor come to rest on what attracts at this mu",
    LANDED: "landed: on the attracting part of the zero-error curve (|mu| < 1)",
    BOUNDED: "bounded: still where bounded orbits are, and mu has no simpler attractor (sqrt5 - 1 <= |mu| < 2)",
    PERIOD2: "period 2: on the attracting orbit of period 2 (1 < |mu| < sqrt5 - 1)",
}
"""The closed set of outcomes. Beyond |mu| = 2 what has not escaped is undecided: almost every orbit will."""

CHANNELS = ("escape", "landing", "sharpness", "branch", "phase", "lyapunov")
BOUNDED_DISC2 = 8.0  # the ellipse of every |mu| < 2 lies within a^2 + b^2 <= 4 + 2 |mu|
LYAPUNOV_STEPS = 16  # the default horizon of the local exponent: longer ones have structure finer than a pixel
MAX_MU = 1e6  # beyond it the Cantor set of bounded orbits on the balanced line nears the escape radius
COUNTS = ("iterations", "lyapunov_steps")


class Plane:
    """Orbits of Phi_mu from every point of a window of the plane. A `System` whose step moves the film's clock alone.

    mu: any real number with |mu| <= 1e6. axes: ("a", "b"), or ("b", "a"), which by symmetry is the same picture. center,
    width: the window, in units of a and b. size: (W, H) grid points. iterations: steps per orbit at most. precision: "f32",
    "f64", or "auto": f32 while a pixel is wide enough for it. dt: one film frame. lyapunov_steps: horizon of the local
    exponent. Raises ValueError, naming the value, for what is out of range.
    """

    kind = "two_factor_plane"

    def __init__(
        self,
        *,
        mu: float,
        axes: tuple[str, str] = ("a", "b"),
        center: tuple[float, float] = (0.0, 0.0),
        width: float = 5.2,
        size: tuple[int, int],
        iterations: int,
        precision: str = "auto",
        dt: float = 1 / 30,
        lyapunov_steps: int = LYAPUNOV_STEPS,
    ) -> None:
        if tuple(axes) not in (("a", "b"), ("b", "a")):
            raise ValueError(f"axes must be (a, b) or (b, a), not {axes!r}")
        if precision not in ("auto", "f32", "f64"):
            raise ValueError(f"precision must be auto, f32 or f64, not {precision!r}")
        if not dt > 0:
            raise ValueError(f"dt must be positive, not {dt!r}")
        self.axes, self.precision, self.dt = (str(axes[0]), str(axes[1])), precision, float(dt)
        self.step_index = 0
        where = {"window.width": width, "window.center.0": center[0], "window.center.1": center[1]}
        self._first = _checked({"mu": mu, "iterations": iterations, "lyapunov_steps": lyapunov_steps, **where})
        self._values = self._first
        self.window = _window(self._values, (int(size[0]), int(size[1])))
        self._sweep = Sweep()
        self._out: dict[str, Any] = {}  # arrays handed out, by name
        self._fresh: set[str] = set()  # those that belong to the present parameters

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
        """`mu`, `iterations`, `lyapunov_steps`, `window.width`, `window.center.0`, `window.center.1`; nothing recompiles.

        Counts are rounded. Raises ValueError for an unknown name or a value out of range, and changes nothing then.
        """
        unknown = [name for name in values if name not in self._first]
        if unknown:
            raise ValueError(f"a plane has no parameter {unknown[0]!r}; it has {', '.join(self._first)}")
        new = _checked(self._values | dict(values))
        if new != self._values:
            self.window = _window(new, self.size)
            self._values = new
            self._invalidate()

    def diagnostics(self) -> Row:
        """The row of the `run` table: what the grid says beside what the ellipse says.

        bounded_fraction: share of grid points that did not escape; bounded_area: the same in units of the plane's area;
        ellipse_area: exact, None for |mu| >= 2; misclassified: see `misclassified`, None for |mu| >= 2.
        """
        bounded = self.outcome().to_numpy() != ESCAPED
        count = int(np.count_nonzero(bounded))
        exact = abs(self.mu) < 2
        return {
            "t": self.time,
            "mu": self.mu,
            "bounded_fraction": count / bounded.size,
            "bounded_area": count * self.pixel**2,
            "ellipse_area": theory.ellipse_area(self.mu) if exact else None,
            "misclassified": self.misclassified(bounded) if exact else None,
        }

    def release(self) -> None:
        """Free the grids."""
        self._sweep.release()
        self._out.clear()
        self._fresh.clear()

    # --- parameters and window ---

    @property
    def mu(self) -> float:
        """The map's parameter."""
        return self._values["mu"]

    @property
    def iterations(self) -> int:
        """Steps per orbit at most."""
        return int(self._values["iterations"])

    @property
    def lyapunov_steps(self) -> int:
        """Horizon of the local Lyapunov exponent, in steps."""
        return int(self._values["lyapunov_steps"])

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
        return "f32" if self.precision == "auto" and self.window.enough("f32") else "f64"

    @property
    def resolved(self) -> bool:
        """Is a pixel wide enough for the working precision? If not, the picture shows rounding: say so."""
        return self.window.enough(self.working_precision)

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

    # --- what is computed ---

    def outcome(self) -> ti.Ndarray:
        """(H, W) i32 of `LABELS`. Valid until the next change of a parameter."""
        out = self._grid("outcome", ti.i32)
        if "outcome" not in self._fresh:
            ends, size = self.sweep_ends(), abs(self.mu)
            cycles = 1 < size < theory.MU_PERIOD2
            code = self._sweep.settled(self._job) if cycles else ends.steps  # unread without cycles
            disc2 = BOUNDED_DISC2 if theory.MU_PERIOD2 <= size < theory.MU_BOUNDED else -1.0
            limits = (self.mu, ESCAPE_RADIUS**2, LANDING_TOLERANCE, disc2, int(cycles))
            self._passes.outcome(ends.a, ends.b, code, *limits, out)
            self._fresh.add("outcome")
        return out

    def channel(self, name: str) -> ti.Ndarray:
        """(H, W) f32, valid until the next change of a parameter. Names and meanings:

        escape      smooth cubic escape count (`theory.escape_count` in the limit of late n); NaN where not escaped
        landing     steps until |e| < LANDING_TOLERANCE on the attracting curve, smooth; NaN where not landed
        sharpness   a^2 + b^2 of the last state; NaN where escaped
        branch      +1 or -1: sign of a + sgn(mu) b where it has stopped changing, else 0 (escaped and undecided too)
        phase       +1 or -1: sign of e (of -e for mu < 0) at even times where it lasts and is the other one at odd times,
                    else 0: so 0 for |mu| <= 1, and in chaos once its bands have merged
        lyapunov    mean of log|J v|/|v| over `lyapunov_steps` steps from the grid point, v along the balanced line at first;
                    for many steps the larger of the exponents along and across, in chaos that along; NaN where escaped
        """
        if name not in CHANNELS:
            raise ValueError(f"no channel {name!r}; there are {', '.join(CHANNELS)}")
        out = self._grid(name, ti.f32)
        if name not in self._fresh:
            out.fill(math.nan)
            self._fill(name, out)
            self._fresh.add(name)
        return out

    def sweep_ends(self) -> Ends:
        """The states where orbits stopped, on the device (see `sweep.Ends`): for whoever goes on from them."""
        return self._sweep.ends(self._job)

    def misclassified(self, bounded: np.ndarray) -> int:
        """Points of the (H, W) mask further than one pixel from the exact ellipse, on its wrong side. |mu| < 2."""
        x, y = self.points()
        a, b = np.broadcast_arrays(x[None, :], y[:, None])
        wrong = bounded != theory.inside_ellipse(a, b, self.mu)
        return int(np.count_nonzero(np.abs(theory.ellipse_distance(a[wrong], b[wrong], self.mu)) > self.pixel))

    def _fill(self, name: str, out: Any) -> None:
        label, ends, passes = self.outcome(), self.sweep_ends(), self._passes
        match name:
            case "escape":
                passes.escape(ends.a, ends.b, ends.steps, label, self.mu, ESCAPE_RADIUS**2, out)
            case "landing":
                passes.landing(ends.a, ends.b, ends.before, ends.steps, label, self.mu, LANDING_TOLERANCE, out)
            case "sharpness":
                passes.sharpness(ends.a, ends.b, label, out)
            case "branch":
                passes.decode(self._sweep.settled(self._job), label, 3, LANDED, out)
            case "phase":
                least = UNDECIDED + 1 if abs(self.mu) > 1 else PERIOD2 + 1
                passes.decode(self._sweep.settled(self._job), label, 1, least, out)
            case "lyapunov":
                passes.keep(self._sweep.growth(self._job, self.lyapunov_steps), label, out)

    @property
    def _job(self) -> Job:
        return Job(self.window, self.mu, self.iterations, self.working_precision)

    @property
    def _passes(self) -> channels.Kernels:
        return channels.kernels(self.working_precision)

    def _grid(self, name: str, kind: Any) -> Any:
        if name not in self._out:
            self._out[name] = ti.ndarray(kind, (self.size[1], self.size[0]))
        return self._out[name]

    def _invalidate(self) -> None:
        self._sweep.invalidate()
        self._fresh.clear()


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
    return {name: float(round(value) if name in COUNTS else value) for name, value in values.items()}


def _window(values: dict[str, float], size: tuple[int, int]) -> Window:
    return Window((values["window.center.0"], values["window.center.1"]), values["window.width"], size)
