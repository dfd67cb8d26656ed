"""What a flow is like away from its tokens: its fields at any points of the sphere, and what each head does by itself.

b, U, v        as in MATHS.md, section A, at points p instead of tokens x_i
density        f(p) = kappa / sinh(kappa) (1/N) sum_j exp(kappa <p, x_j>), 1 for a uniform cloud: a von Mises-Fisher kernel of
               concentration kappa, whose width is about 1/sqrt(kappa) radians. It is U of the one head kappa I.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import taichi as ti
from numpy.typing import NDArray

from sim import runtime
from sim.attention.pairs import B, Fields, Pairs, U
from sim.attention.schedule import Heads

Floats = NDArray[np.float64]
BUDGET = 40_000_000  # pair terms an evaluation may cost: some tens of milliseconds on two cores
LEAST = 512  # tokens that stand for the cloud at the very least


class Flow(Protocol):
    """What is read of an attention flow."""

    count: int
    heads: int
    precision: str
    flow: str
    sign: int

    @property
    def cloud(self) -> ti.Ndarray: ...

    def theta(self) -> Heads: ...


class Surface:
    """Evaluates one flow at points (G, 3), unit vectors, or at its own tokens where none are given.

    An evaluation costs at most about `budget` pair terms: where G N H is more, a fixed random sample of the tokens stands for the
    cloud, at least LEAST of them. `sample` is their number, N where the values are exact.
    """

    def __init__(self, flow: Flow, points: Floats | None = None, *, budget: int = BUDGET) -> None:
        self.flow = flow
        targets = flow.count if points is None else len(points)
        self.sample = min(flow.count, max(LEAST, budget // (targets * flow.heads)))
        self._vec3 = ti.types.vector(3, runtime.real_type(flow.precision))
        self._dtype = np.float32 if flow.precision == "f32" else np.float64
        self._all = Pairs(self.sample, flow.heads, flow.precision, targets)
        self._one = Pairs(self.sample, 1, flow.precision, targets)
        self._out = Fields(targets, flow.precision)
        self._points = None if points is None else self._device(points)
        self._picked = None
        if self.sample < flow.count:
            self._picked = np.sort(np.random.Generator(np.random.PCG64(0)).permutation(flow.count)[: self.sample])
            self._tokens = ti.ndarray(self._vec3, (self.sample,))

    def speed(self) -> Floats:
        """|v| (G,) that a token would have at each point."""
        self._evaluate()
        return np.asarray(np.linalg.norm(self._velocity(), axis=1))

    def log_b(self) -> Floats:
        """Natural logarithm of the metric weight b, (G,)."""
        self._evaluate()
        return self._log(B)

    def log_potential(self) -> Floats:
        """Natural logarithm of U, (G,)."""
        self._evaluate()
        return self._log(U)

    def log_density(self, kappa: float) -> Floats:
        """Natural logarithm of the kernel density over the uniform one, (G,); `kappa` > 0."""
        self._one.potential(self._source(), kappa * np.eye(3)[None], self._out, self._at())
        return np.asarray(self._log(U) + np.log(2 * kappa) - kappa - np.log(-np.expm1(-2 * kappa)))

    def drift(self, head: int | None = None) -> Floats:
        """v (G, 3): of the whole flow, or what head number `head` adds to it but for a factor common to all heads.

        That is sign P_p theta_h grad G_h / G_h for softmax, and without the division for the other flows.
        """
        if head is None:
            self._evaluate()
            return self._velocity()
        theta = self.flow.theta()[[head]]
        self._one.evaluate(self._source(), theta, "softmax", self.flow.sign, self._out, at=self._at())
        return np.asarray(self._velocity() * np.exp(self._weight())[:, None])

    def strongest_head(self, heads: Sequence[int] | None = None) -> NDArray[np.int32]:
        """(G,) which head pulls hardest at each point: the largest |drift(h)|, the smallest h among equals."""
        best, label = np.full(self._out.v.shape[0], -np.inf), np.zeros(self._out.v.shape[0], np.int32)
        theta = self.flow.theta()
        for head in range(self.flow.heads) if heads is None else heads:
            self._one.evaluate(self._source(), theta[[head]], "softmax", self.flow.sign, self._out, at=self._at())
            with np.errstate(divide="ignore"):
                pull = np.log(np.linalg.norm(self._velocity(), axis=1)) + self._weight()
            label[pull > best] = head
            best = np.maximum(best, pull)
        return label

    def _weight(self) -> Floats:
        """log of what a head's softmax is to be multiplied with: G_h where the flow does not normalise it."""
        return np.zeros(self._out.v.shape[0]) if self.flow.flow == "softmax" else self._log(U)

    def _evaluate(self) -> None:
        self._all.evaluate(self._source(), self.flow.theta(), self.flow.flow, self.flow.sign, self._out, at=self._at())

    def _source(self) -> ti.Ndarray:
        """The tokens that are summed over."""
        if self._picked is None:
            return self.flow.cloud
        self._tokens.from_numpy(self.flow.cloud.to_numpy()[self._picked])
        return self._tokens

    def _at(self) -> ti.Ndarray:
        return self.flow.cloud if self._points is None else self._points

    def _device(self, points: Floats) -> ti.Ndarray:
        array = ti.ndarray(self._vec3, (len(points),))
        array.from_numpy(np.ascontiguousarray(points, self._dtype))
        return array

    def _velocity(self) -> Floats:
        return np.asarray(self._out.v.to_numpy(), np.float64)

    def _log(self, row: int) -> Floats:
        """log of a positive scalar, its reference put back."""
        scalar, reference = self._out.scalars.to_numpy()[row], self._out.reference.to_numpy()[1 if row == B else 0]
        return np.asarray(np.log(scalar.astype(np.float64)) + reference)
