"""Scene keys of system A, tokens on the sphere (arXiv 2605.18870). Symbols as in MATHS.md: theta, M, A, kappa, sigma, omega."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenes.fields import Count, Live, Matrix, Misfit, NonNegative, Positive, Real, Spec, Triple

MAX_TOKENS = 10_000_000
MAX_HEADS = 1024

Theta0 = Matrix | Literal["random"]
"""Start of every head; "random" is Z + Z^T with Z standard normal, a fresh draw per head, as in the paper's experiments."""
PerHead = Real | list[Real]
"""One number for all heads, or a list with one number per head."""
Phases = PerHead | Literal["spread", "random"]
"""phi_h: numbers, "spread" = 2 pi h / H, or "random" = uniform on the circle from the scene's seed."""


class Tokens(Spec):
    """The initial cloud x_1..x_N on S^2."""

    count: Annotated[Count, Field(le=MAX_TOKENS)] = 1024
    """Number of tokens N."""
    start: Literal["uniform", "octahedron", "cap", "ring", "file"] = "uniform"
    """uniform on the sphere; octahedron: the six vertices in turn, as in the paper; cap about `axis`; ring; file."""
    noise: NonNegative = 0.05
    """Standard deviation of the normal noise added before normalising (octahedron, ring)."""
    angle: Annotated[Positive, Field(le=180)] = 30.0
    """Half-opening of the cap, degrees."""
    axis: Triple = (0.0, 0.0, 1.0)
    """Centre of the cap, or normal of the ring's plane."""
    file: str | None = None
    """A .npy of shape (N, 3), used with `start: file`; a relative path counts from the scene file. `count` is then ignored."""

    @model_validator(mode="after")
    def _file_belongs_to_start(self) -> "Tokens":
        if (self.start == "file") != (self.file is not None):
            raise Misfit(("start",), "`start: file` and `file: PATH.npy` go together")
        if not any(self.axis):
            raise Misfit(("axis",), "the zero vector has no direction")
        return self


class Weights(Spec):
    """What every schedule theta_h(t) has: an overall factor beta, the inverse temperature."""

    beta: Annotated[Real, Live(0, 10, r"$\beta$")] = 1.0
    """Factor on every theta_h: the inverse temperature."""


class StaticWeights(Weights):
    """theta_h fixed: the autonomous system."""

    kind: Literal["static"]
    theta: Theta0 = 1.0
    """theta_h: a number c for c I, three numbers for a diagonal, three rows, or random."""


class OUWeights(Weights):
    """d theta = kappa (M - theta) dt + sigma dW_sym, sampled exactly on the time grid."""

    kind: Literal["ou"]
    M: Matrix = 1.0
    """The mean that the weights fluctuate about."""
    theta0: Theta0 = "random"
    """theta_h at t = 0."""
    kappa: Annotated[Positive, Live(0.05, 5, r"$\kappa$", "1/time")] = 1.0
    """Rate of return to M, per unit of time."""
    sigma: Annotated[NonNegative, Live(0, 4, r"$\sigma$", "1/sqrt(time)")] = 1.4142135623730951
    """Strength of the noise, per square root of time."""


class OscillatingWeights(Weights):
    """theta_h(t) = M + A cos(omega_h t + phi_h): never settles."""

    kind: Literal["oscillating"]
    M: Matrix = 0.0
    """The mean that the weights fluctuate about."""
    A: Matrix = 1.0
    """Amplitude of the oscillation."""
    omega: Annotated[PerHead, Live(0, 10, r"$\omega$", "rad/time")] = 1.0
    """Angular rate, radians per unit of time: one for all heads, or a list."""
    phases: Phases = "spread"
    """phi_h in radians: one number, a list, spread = 2 pi h/H, or random."""


class RotatingWeights(Weights):
    """theta_h(t) = R(omega_h t + phi_h) D R^T, R a rotation about `axis`: never settles."""

    kind: Literal["rotating"]
    eigenvalues: Triple = (2.0, 0.5, 1.0)
    """Diagonal of D."""
    axis: Literal["x", "y", "z"] | Triple = "z"
    omega: Annotated[PerHead, Live(0, 10, r"$\omega$", "rad/time")] = 1.0
    """Angular rate, radians per unit of time: one for all heads, or a list."""
    phases: Phases = "spread"
    """phi_h in radians: one number, a list, spread = 2 pi h/H, or random."""


class PaperOscillatingWeights(Weights):
    """d theta_h/dt = target_h(t) - theta_h, the paper's oscillating experiment, in three phase variants."""

    kind: Literal["paper_oscillating"]
    theta0: Theta0 = "random"
    """theta_h at t = 0."""
    phase: Literal["in_phase", "shifted", "detuned"] = "in_phase"
    """How the heads are phased: all alike, shifted over the period, or shifted with the fast entries detuned."""


AnyWeights = Annotated[
    StaticWeights | OUWeights | OscillatingWeights | RotatingWeights | PaperOscillatingWeights, Field(discriminator="kind")
]


class AttentionSystem(Spec):
    """Tokens on S^2 under multi-head attention with moving weights."""

    kind: Literal["attention"]
    tokens: Tokens = Tokens()
    """The initial cloud."""
    heads: Annotated[Count, Field(le=MAX_HEADS)] = 1
    """Number of heads H."""
    weights: AnyWeights = StaticWeights(kind="static")
    """The schedule theta_h(t); `kind` picks the law."""
    flow: Literal["softmax", "gradient_flow", "unnormalised"] = "softmax"
    """softmax: standard attention; gradient_flow: the curve of maximal slope of E; unnormalised: no softmax."""
    sign: Annotated[Literal[-1, 1], Field(description="1 ascends E (tokens attract for positive theta), -1 descends it")] = -1
    integrator: Literal["euler", "heun", "rk4"] = "rk4"
    """Explicit Runge-Kutta method, of order 1, 2 or 4."""
    dt: Annotated[Positive, Field(le=10)] = 0.02
    """Time step of the grid t_k = k dt."""
    cluster_cosine: Annotated[Real, Field(gt=-1, lt=1)] = 0.99
    """Two tokens are linked when their cosine reaches this; `clusters` counts the single-linkage components."""
    precision: Literal["auto", "f32", "f64"] = "auto"
    """auto is f32."""

    @model_validator(mode="after")
    def _one_number_per_head(self) -> "AttentionSystem":
        for key in ("omega", "phases"):
            values = getattr(self.weights, key, None)
            if isinstance(values, list) and len(values) != self.heads:
                raise Misfit(
                    ("weights", key), f"lists {len(values)} numbers for {self.heads} heads; give one number, or one per head"
                )
        return self
