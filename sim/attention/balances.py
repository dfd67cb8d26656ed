"""What the energy of a flow is held against: the integrals over time, and the residuals of the balances (MATHS.md, section A).

    EDI             E(T) - E(0) - sign * int slope2 dt - int (partial_t E) dt               0 for gradient_flow
    power balance   E(T) - E(0) - int (1/N) sum_i <g, v> dt - int (partial_t E) dt          0 for every flow

The explicit part of a step is the mean of E(x, theta') - E(x, theta) at both end clouds, the rest is the trapezoid rule.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sim.attention.ito import ExplicitParts
from sim.attention.schedule import Heads, Schedule
from sim.attention.summary import Summary
from sim.system import Row


class Balances:
    """The integrals since t = 0. `energy(x, theta)` evaluates E of a cloud under any weights: up to twice a step.

    `parts` also splits the explicit change of noisy weights. Everything is None where `tracked` is false or where
    the schedule has no energy law.
    """

    def __init__(
        self, schedule: Schedule, sign: int, energy: Callable[[Any, Heads], float], parts: ExplicitParts | None, tracked: bool
    ) -> None:
        self._schedule, self._sign, self._energy, self._parts = schedule, sign, energy, parts
        self.tracked = tracked and schedule.why_no_energy is None
        self.restart()

    def restart(self) -> None:
        """Back to t = 0."""
        self._initial: float | None = None
        self._dissipated = self._worked = self._explicit = 0.0
        if self._parts is not None:
            self._parts.restart()

    def begin(self, now: Summary) -> None:
        """The state at t = 0."""
        if self._initial is None:
            self._initial = now.energy

    def book(self, before: Summary, now: Summary, previous: Any, newest: Any, half: int) -> None:
        """Add the step from the cloud `previous` at half step `half` to the cloud `newest`, two half steps on."""
        dt = self._schedule.dt
        self._dissipated += dt / 2 * (before.slope2 + now.slope2)
        self._worked += dt / 2 * (before.power + now.power)
        if self.tracked and not np.array_equal(before.theta, now.theta):
            at_start = self._energy(previous, now.theta) - before.energy
            at_end = now.energy - self._energy(newest, before.theta)
            self._explicit += (at_start + at_end) / 2
            if self._parts is not None:
                self._parts.book(previous, before.theta, now.theta, self._schedule, half)

    def reweigh(self, change: float) -> None:
        """The weights were changed by hand: what that does to the energy is an explicit change, and of noisy ones drift."""
        self._explicit += change
        if self._parts is not None:
            self._parts.drift += change

    def residuals(self, now: Summary) -> tuple[float | None, float | None]:
        """EDI and power residual since t = 0."""
        if not (self.tracked and np.isfinite(now.energy)):
            return None, None
        assert self._initial is not None
        gained = now.energy - self._initial - self._explicit
        residuals = (gained - self._sign * self._dissipated, gained - self._worked)
        return residuals if np.isfinite(residuals).all() else (None, None)

    def explicit(self) -> Row:
        """int (partial_t E) dt since t = 0 and, for random weights, its drift, Ito and martingale parts."""
        row: Row = {"explicit": self._explicit if self.tracked else None, "drift": None, "ito": None, "martingale": None}
        if self.tracked and self._parts is not None and np.isfinite(self._parts.ito):
            row |= {"drift": self._parts.drift, "ito": self._parts.ito, "martingale": self._parts.martingale}
        return row
