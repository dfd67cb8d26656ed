"""Scene keys of the weights theta_h(t) (arXiv 2605.18870). Symbols as in MATHS.md: theta, M, A, kappa, sigma, omega."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, Discriminator, Field, Tag, model_validator

from scenes.fields import Flag, Live, Matrix, Misfit, NonNegative, Positive, Real, Rows, Spec, Triple


class Drawn(Spec):
    """A number per head, drawn with the scene's seed from one of these laws."""

    normal: tuple[Real, NonNegative] | None = None
    """Mean and standard deviation of a normal law."""
    uniform: tuple[Real, Real] | None = None
    """Lowest and highest of a uniform law."""

    @model_validator(mode="after")
    def _one_law(self) -> "Drawn":
        if (self.normal is None) == (self.uniform is None):
            raise ValueError("a law is {normal: [mean, deviation]} or {uniform: [low, high]}")
        if self.uniform is not None and self.uniform[0] > self.uniform[1]:
            raise Misfit(("uniform",), f"the bounds [{self.uniform[0]:g}, {self.uniform[1]:g}] are in the wrong order")
        return self


def _form(value: object) -> str:
    """Which of the ways to give numbers per head this is, so that what is wrong with it is said of that way alone."""
    if isinstance(value, Mapping | BaseModel):
        return "drawn"
    return "list" if isinstance(value, list | tuple) else "number"


def _phase_form(value: object) -> str:
    return "name" if isinstance(value, str) else _form(value)


HeadMatrices = Matrix | list[Rows]
"""One matrix for all heads, or a list with three rows of three for each."""
Theta0 = HeadMatrices | Literal["random"]
"""Start of every head; "random" is Z + Z^T with Z standard normal, a fresh draw per head, as in the paper's experiments."""
_Law = Annotated[Drawn, Tag("drawn")]
PerHead = Annotated[
    Annotated[Real, Tag("number")] | Annotated[list[Real], Tag("list")] | _Law,
    Discriminator(_form),
]
"""One number for all heads, a list with one number per head, or {normal: [mean, deviation]} or {uniform: [low, high]}."""
PositivePerHead = Annotated[
    Annotated[Positive, Tag("number")] | Annotated[list[Positive], Tag("list")] | _Law,
    Discriminator(_form),
]
"""Likewise, above 0; a law must not give anything else."""
NonNegativePerHead = Annotated[
    Annotated[NonNegative, Tag("number")] | Annotated[list[NonNegative], Tag("list")] | _Law,
    Discriminator(_form),
]
"""Likewise, from 0 on."""
Phases = Annotated[
    Annotated[Real, Tag("number")]
    | Annotated[list[Real], Tag("list")]
    | _Law
    | Annotated[Literal["spread", "random"], Tag("name")],
    Discriminator(_phase_form),
]
"""phi_h: numbers, "spread" = 2 pi h / H, or "random" = uniform on the circle from the scene's seed."""


class Noise(Spec):
    """An exactly sampled Ornstein-Uhlenbeck noise of mean 0 on top of any law, starting at 0, symmetric, from its own stream."""

    kappa: Annotated[PositivePerHead, Live(0.05, 5, r"noise $\kappa$", "1/time")] = 1.0
    """Rate of return to the law, per unit of time."""
    sigma: Annotated[NonNegativePerHead, Live(0, 4, r"noise $\sigma$", "1/sqrt(time)")] = 0.5
    """Strength, per square root of time; the late variance is sigma^2/(2 kappa) on the diagonal, half of it off."""


class Weights(Spec):
    """What every schedule theta_h(t) has: an overall factor beta, the inverse temperature, and what may be laid over it."""

    beta: Annotated[Real, Live(0, 10, r"$\beta$")] = 1.0
    """Factor on every theta_h, noise included: the inverse temperature."""
    value: HeadMatrices | None = None
    """V_h in place of the leading theta_h of the velocity, not scaled by beta; there is no energy law then."""
    noise: Noise | None = None
    """Noise on top of the law."""

    def per_head(self) -> Iterator[tuple[tuple[str, ...], list[float] | list[Rows]]]:
        """(path below `weights`, list) of every key that lists something per head."""
        noise = [] if self.noise is None else [(("noise", name), value) for name, value in self.noise]
        for path, value in [*(((name,), value) for name, value in self), *noise]:
            if isinstance(value, list):
                yield path, value

    def asymmetric(self) -> Iterator[str]:
        """The keys whose matrices are not symmetric, which leaves no energy law."""
        for name, value in self:
            for rows in value if isinstance(value, list) else [value]:
                if name != "value" and _is_rows(rows) and any(rows[i][j] != rows[j][i] for i, j in ((0, 1), (0, 2), (1, 2))):
                    yield name


def _is_rows(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(row, tuple) for row in value)


class StaticWeights(Weights):
    """theta_h fixed: the autonomous system."""

    kind: Literal["static"]
    theta: Theta0 = 1.0
    """theta_h: a number c for c I, three numbers for a diagonal, three rows, a list with three rows per head, or random."""


class OUWeights(Weights):
    """d theta = kappa (M - theta) dt + sigma dW_sym, sampled exactly on the time grid."""

    kind: Literal["ou"]
    M: HeadMatrices = 1.0
    """The mean that the weights fluctuate about."""
    theta0: Theta0 = "random"
    """theta_h at t = 0."""
    kappa: Annotated[PositivePerHead, Live(0.05, 5, r"$\kappa$", "1/time")] = 1.0
    """Rate of return to M, per unit of time: one for all heads, a list, or a law."""
    sigma: Annotated[NonNegativePerHead, Live(0, 4, r"$\sigma$", "1/sqrt(time)")] = 1.4142135623730951
    """Strength of the noise, per square root of time: one for all heads, a list, or a law."""


class DecayingWeights(Weights):
    """theta_h(t) = M + (theta_0 - M) exp(-kappa t): integrable and deterministic."""

    kind: Literal["decaying"]
    M: HeadMatrices = 1.0
    """The limit of the weights."""
    theta0: Theta0 = "random"
    """theta_h at t = 0."""
    kappa: Annotated[PositivePerHead, Live(0.05, 5, r"$\kappa$", "1/time")] = 1.0
    """Rate of decay, per unit of time: one for all heads, a list, or a law."""


class OscillatingWeights(Weights):
    """theta_h(t) = M + A cos(omega_h t + phi_h): never settles."""

    kind: Literal["oscillating"]
    M: HeadMatrices = 0.0
    """The mean that the weights fluctuate about."""
    A: HeadMatrices = 1.0
    """Amplitude of the oscillation."""
    omega: Annotated[PerHead, Live(0, 10, r"$\omega$", "rad/time")] = 1.0
    """Angular rate, radians per unit of time: one for all heads, a list, or a law."""
    phases: Phases = "spread"
    """phi_h in radians: one number, a list, a law, spread = 2 pi h/H, or random."""


class RotatingWeights(Weights):
    """theta_h(t) = R(omega_h t + phi_h) D R^T, R a rotation about `axis`: never settles."""

    kind: Literal["rotating"]
    eigenvalues: Triple = (2.0, 0.5, 1.0)
    """Diagonal of D."""
    axis: Literal["x", "y", "z"] | Triple = "z"
    omega: Annotated[PerHead, Live(0, 10, r"$\omega$", "rad/time")] = 1.0
    """Angular rate, radians per unit of time: one for all heads, a list, or a law."""
    phases: Phases = "spread"
    """phi_h in radians: one number, a list, a law, spread = 2 pi h/H, or random."""


class PaperOscillatingWeights(Weights):
    """d theta_h/dt = target_h(t) - theta_h, the paper's oscillating experiment, in three phase variants."""

    kind: Literal["paper_oscillating"]
    theta0: Theta0 = "random"
    """theta_h at t = 0."""
    phase: Literal["in_phase", "shifted", "detuned"] = "in_phase"
    """How the heads are phased: all alike, shifted over the period, or shifted with the fast entries detuned."""


class KeyframeWeights(Weights):
    """theta_h(t) through matrices from a file, such as the layers of a trained transformer projected to 3x3."""

    kind: Literal["keyframes"]
    file: str
    """An .npz with `theta` of shape (K, H, 3, 3) and, where wanted, ascending `times` (K,); else 0, 1, ..., K - 1. A relative
    path counts from the scene file."""
    interpolation: Literal["hold", "linear", "cubic"] = "linear"
    """hold: each matrix until the next; linear; cubic: a smooth spline. The first and last stand outside the times."""
    pace: Positive = 1.0
    """The file's time (layers, without `times`) per unit of system time."""
    symmetrise: Flag = False
    """Take (theta + theta^T)/2; matrices that are not symmetric leave no energy law."""


AnyWeights = Annotated[
    StaticWeights
    | OUWeights
    | DecayingWeights
    | OscillatingWeights
    | RotatingWeights
    | PaperOscillatingWeights
    | KeyframeWeights,
    Field(discriminator="kind"),
]
