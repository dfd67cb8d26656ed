"""One outcome and a few numbers per grid point, computed from a sweep when first asked for and kept until `invalidate`."""

import math
from typing import Any

import taichi as ti

from sim.two_factor import channels, theory
from sim.two_factor.channels import BOUNDED, ESCAPED, LANDED, NO_START, PERIOD2, UNDECIDED
from sim.two_factor.sweep import ESCAPE_RADIUS, LANDING_TOLERANCE, Ends, Job, Sweep

LABELS = {
    NO_START: "no start: this point of the picture is no state of the system",
    ESCAPED: "escaped: a^2 + b^2 passed R^2",
    UNDECIDED: "undecided: neither escaped nor come to rest on what attracts at this mu",
    LANDED: "landed: on the attracting part of the zero-error curve (|mu| < 1)",
    BOUNDED: "bounded: still where bounded orbits are, and mu has no simpler attractor (sqrt5 - 1 <= |mu| < 2)",
    PERIOD2: "period 2: on the attracting orbit of period 2 (1 < |mu| < sqrt5 - 1)",
}
"""The closed set of outcomes. Beyond |mu| = 2 what has not escaped is undecided: almost every orbit will."""

CHANNELS = {
    "escape": "smooth cubic escape count (`theory.escape_count` in the limit of late n); NaN where not escaped",
    "landing": "steps until |e| < LANDING_TOLERANCE on the attracting curve, smooth; NaN where not landed",
    "sharpness": "a^2 + b^2 of the last state; NaN where escaped",
    "imbalance": "a - sgn(mu) b of the last state, with the sign that it has on the branch a > 0; NaN where escaped",
    "branch": "+1 or -1: sign of a + sgn(mu) b where it has stopped changing, else 0 (escaped and undecided too)",
    "phase": "+1 or -1: sign of e (of -e for mu < 0) at even times where it lasts and is the other one at odd times, else 0: "
    "so 0 for |mu| <= 1, and in chaos once its bands have merged",
    "period": "period of the attracting cycle of (a, b), 1 where landed, up to 64, else 0; NaN where escaped",
    "cycle_phase": "0, 1/p, ... (p - 1)/p: the time modulo the period p at which the cycle is furthest out, over p",
    "lyapunov": "mean of log|J v|/|v| over `lyapunov_steps` steps from the grid point, v along the balanced line at first; for "
    "many steps the larger of the exponents along and across, in chaos that along; NaN where escaped",
    "across": "mean of log|1 + e| over as many steps: growth of the imbalance, on the balanced line the exponent across it",
    "first_rise": "first step k with |e_{k+1}| > |e_k|, -1 where it never rises before landing; NaN where there is no start",
    "web": "distance in grid squares to the nearest line of the landing web {e_k = 0}, 1 <= k <= web_steps (see `histories`)",
    "web_step": "the k of that line",
}
"""Every channel and its meaning."""

BOUNDED_DISC2 = 8.0  # the ellipse of every |mu| < 2 lies within a^2 + b^2 <= 4 + 2 |mu|


class Results:
    """Outcome and channels, (H, W) arrays on the device, of one job at a time."""

    def __init__(self) -> None:
        self._sweep = Sweep()
        self._out: dict[str, Any] = {}  # arrays handed out, by name
        self._fresh: set[str] = set()  # those that belong to the present job

    def invalidate(self) -> None:
        """The job has changed: compute everything again when asked."""
        self._sweep.invalidate()
        self._fresh.clear()

    def release(self) -> None:
        """Free the grids."""
        self._sweep.release()
        self._out.clear()
        self._fresh.clear()

    def ends(self, job: Job) -> Ends:
        """The states where orbits stopped."""
        return self._sweep.ends(job)

    def outcome(self, job: Job) -> ti.Ndarray:
        """(H, W) i32 of `LABELS`."""
        out = self._grid("outcome", ti.i32, job)
        if "outcome" not in self._fresh:
            ends, mus = self._sweep.ends(job), self._sweep.starts(job).mu
            cycles = job.axes.moves_mu or 1 < abs(job.fixed.mu) < theory.MU_PERIOD2
            code = self._sweep.settled(job) if cycles else ends.steps  # unread without cycles
            limits = (ESCAPE_RADIUS**2, LANDING_TOLERANCE, BOUNDED_DISC2, theory.MU_PERIOD2)
            channels.kernels(job.precision).outcome(ends.a, ends.b, code, mus, *limits, out)
            self._fresh.add("outcome")
        return out

    def channel(self, name: str, job: Job, horizon: int, web_steps: int) -> ti.Ndarray:
        """(H, W) f32 of one of `CHANNELS`. Raises ValueError for another name."""
        if name not in CHANNELS:
            raise ValueError(f"no channel {name!r}; there are {', '.join(CHANNELS)}")
        out = self._grid(name, ti.f32, job)
        if name not in self._fresh:
            out.fill(math.nan)
            self._fill(name, job, out, horizon, web_steps)
            self._fresh.add(name)
        return out

    def _fill(self, name: str, job: Job, out: Any, horizon: int, web_steps: int) -> None:
        sweep, passes, label = self._sweep, channels.kernels(job.precision), self.outcome(job)
        ends, mus = sweep.ends(job), sweep.starts(job).mu
        match name:
            case "escape":
                passes.escape(ends.a, ends.b, ends.steps, label, mus, ESCAPE_RADIUS**2, out)
            case "landing":
                passes.landing(ends.a, ends.b, ends.before, ends.steps, label, mus, LANDING_TOLERANCE, out)
            case "sharpness":
                passes.sharpness(ends.a, ends.b, label, out)
            case "imbalance":
                passes.imbalance(ends.a, ends.b, mus, label, out)
            case "branch":
                passes.branch(sweep.settled(job), label, out)
            case "phase":
                passes.phase(sweep.settled(job), label, mus, out)
            case "period":
                passes.period(sweep.cycle(job)[0], label, out)
            case "cycle_phase":
                passes.cycle_phase(*sweep.cycle(job), label, out)
            case "lyapunov":
                passes.keep(sweep.growth(job, horizon), label, UNDECIDED, out)
            case "across":
                passes.keep(sweep.across(job, horizon), label, UNDECIDED, out)
            case "first_rise":
                passes.count(sweep.rise(job), label, ESCAPED, out)
            case "web" | "web_step":
                passes.keep(sweep.web(job, web_steps)[name == "web_step"], label, ESCAPED, out)

    def _grid(self, name: str, kind: Any, job: Job) -> Any:
        if name not in self._out:
            self._out[name] = ti.ndarray(kind, (job.window.size[1], job.window.size[0]))
        return self._out[name]
