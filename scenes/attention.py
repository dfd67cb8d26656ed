"""Scene keys of system A, tokens on the sphere (arXiv 2605.18870). Symbols as in MATHS.md: theta, M, A, kappa, sigma, omega."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenes.fields import Count, Misfit, NonNegative, Positive, Real, Spec, Triple
from scenes.weights import AnyWeights, StaticWeights

MAX_TOKENS = 10_000_000
MAX_HEADS = 1024


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
    integrator: Literal["euler", "heun", "rk4", "ab2", "jko"] = "rk4"
    """Order 1, 2, 4: explicit Runge-Kutta; ab2: two-step Adams-Bashforth, order 2; jko: minimizing movements, order 1."""
    dt: Annotated[Positive, Field(le=10)] = 0.02
    """Time step of the grid t_k = k dt."""
    cluster_cosine: Annotated[Real, Field(gt=-1, lt=1)] = 0.99
    """Two tokens are linked when their cosine reaches this; `clusters` counts the single-linkage components."""
    precision: Literal["auto", "f32", "f64"] = "auto"
    """auto is f32, but for `jko` f64 where the backend has it."""

    @model_validator(mode="after")
    def _one_entry_per_head(self) -> "AttentionSystem":
        for key, values in self.weights.per_head():
            if len(values) != self.heads:
                kind = "numbers" if isinstance(values[0], float) else "matrices"
                raise Misfit(
                    ("weights", *key), f"lists {len(values)} {kind} for {self.heads} heads; give one of them, or one per head"
                )
        return self

    @model_validator(mode="after")
    def _movements_lower_an_energy(self) -> "AttentionSystem":
        if self.integrator != "jko":
            return self
        if self.flow == "softmax":
            raise Misfit(("integrator",), "jko lowers an energy, and `flow: softmax` has none; use `flow: gradient_flow`")
        if self.weights.value is not None:
            raise Misfit(("integrator",), "jko lowers an energy, and there is none with a separate `weights.value`")
        for key in self.weights.asymmetric():
            raise Misfit(("integrator",), f"jko lowers an energy, and there is none when `weights.{key}` is not symmetric")
        return self
