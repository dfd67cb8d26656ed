"""What a scene may say: the one place for names, defaults, ranges and units.

The models of each part stand in their own file (`attention`, `two_factor`, `views`); `Scene` puts them together and checks
what no part can check alone.
"""

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from scenes.attention import AttentionSystem
from scenes.errors import nearest
from scenes.fields import Misfit, Real, Spec, live_parameters
from scenes.two_factor import TwoFactorPlane
from scenes.views import AnyView, Film, GlobeView, Keyframe, Pane, PlaneView

MAX_PANES = 9
MAX_SAMPLES = 2**28  # grid points alive at once; Taichi aborts the process past 2^31 cells
MAX_TOKEN_HEADS = 2**31 - 1  # tokens x heads

AnySystem = Annotated[AttentionSystem | TwoFactorPlane, Field(discriminator="kind")]
Panel = Literal["slope2", "energy", "balance", "speed", "clusters"]
ATTENTION_COLUMNS = (
    *("t", "energy", "slope2", "edi_residual", "power_residual", "mean_speed", "clusters"),
    *("clusters_loose", "max_speed", "order_parameter", "moment_1", "moment_2", "moment_3", "min_b", "max_b"),
    *("explicit", "drift", "ito", "martingale"),
)
PLANE_COLUMNS = ("t", "mu", "bounded_fraction", "bounded_area", "ellipse_area", "misclassified")
EXPECTATIONS = ("radius_error",)
"""What `expect` may bound besides the columns of the run table at the film's end."""


class Scene(Spec):
    """One phenomenon: a system, how it is seen, and what must come out."""

    title: Annotated[str, Field(strict=True, max_length=200)]
    """A short name, drawn at the top of the picture. Mathematics between dollar signs."""
    caption: Annotated[str, Field(strict=True, max_length=1000)] = ""
    """One or two sentences that say what is seen."""
    source: Annotated[str, Field(strict=True, max_length=300)] = ""
    """Where the statement comes from: a paper and its section."""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = 0
    """Fixes every random number of the scene."""
    system: AnySystem
    """What is simulated; `kind` is attention or two_factor_plane."""
    view: AnyView
    """How it is drawn; `kind` is globe or plane."""
    panels: list[Panel] = []
    """Curves against time beside the view (attention only)."""
    film: Film = Film()
    """Size, rate, length and speed of a recording."""
    timeline: list[Keyframe] = []
    """Keyframes in ascending order of `at`."""
    panes: Annotated[list[Pane], Field(max_length=MAX_PANES)] = []
    """Several systems on one clock, in a grid; each overrides parts of `system` and `view`."""
    expect: dict[str, tuple[Real, Real]] = {}
    """Bounds [low, high] on a column of the run table at the film's end, or on radius_error."""

    @model_validator(mode="after")
    def _view_fits_system(self) -> "Scene":
        attention = isinstance(self.system, AttentionSystem)
        if isinstance(self.view, GlobeView) != attention:
            raise Misfit(("view", "kind"), f"`{self.view.kind}` cannot show a system of kind `{self.system.kind}`")
        if isinstance(self.view, GlobeView) and isinstance(self.system, AttentionSystem):
            numbers = [
                *([] if self.view.heads == "all" else self.view.heads),
                *[n for n in [self.view.arrows] if isinstance(n, int)],
            ]
            if max(numbers, default=0) > self.system.heads:
                key = "arrows" if self.view.arrows == max(numbers) else "heads"
                raise Misfit(("view", key), f"asks for head {max(numbers)} of {self.system.heads}; heads are numbered from 1")
        if self.panels and not attention:
            raise Misfit(("panels",), "panels are curves of an attention system; a plane has none")
        return self

    @model_validator(mode="after")
    def _fits_in_memory(self) -> "Scene":
        width, height = self.film.size
        if isinstance(self.view, PlaneView):
            samples = width * height * self.view.supersample**2
            if samples > MAX_SAMPLES:
                raise Misfit(
                    ("film", "size"),
                    f"{width} x {height} at supersample {self.view.supersample} is {samples} grid points; at most {MAX_SAMPLES}",
                )
        if isinstance(self.system, AttentionSystem) and self.system.tokens.count * self.system.heads > MAX_TOKEN_HEADS:
            raise Misfit(("system", "tokens", "count"), f"tokens x heads is more than {MAX_TOKEN_HEADS}")
        return self

    @model_validator(mode="after")
    def _timeline_makes_sense(self) -> "Scene":
        for i, (before, after) in enumerate(pairwise(self.timeline), start=1):
            if after.at < before.at:
                raise Misfit(
                    ("timeline", i, "at"), f"keyframes stand in order of time, but {after.at:g} comes after {before.at:g}"
                )
        for i, keyframe in enumerate(self.timeline):
            for key, value in keyframe.targets.items():
                try:
                    _check_target(self, key, value)
                except ValueError as error:
                    raise Misfit(("timeline", i, key), str(error)) from None
        return self

    @model_validator(mode="after")
    def _expectations_are_known(self) -> "Scene":
        columns = ATTENTION_COLUMNS if isinstance(self.system, AttentionSystem) else PLANE_COLUMNS
        known = (*columns, *EXPECTATIONS) if isinstance(self.system, AttentionSystem) else columns
        for name, (low, high) in self.expect.items():
            if name not in known:
                raise Misfit(("expect", name), f"is not one of {', '.join(known)}")
            if low > high:
                raise Misfit(("expect", name), f"the bounds [{low:g}, {high:g}] are in the wrong order")
        return self


def resolve_target(scene: Scene, key: str) -> tuple[Literal["system", "view"], str]:
    """Where a keyframe's key points: ("system" or "view", dotted path within it).

    A key is a path within `system`, a path within `view` after `view.`, or the last name of either where that is unique.
    Raises ValueError, naming what can move, for anything else.
    """
    system = [parameter.path for parameter in live_parameters(scene.system)]
    view = [parameter.path for parameter in live_parameters(scene.view)]
    if key in system:
        return "system", key
    if key.startswith("view.") and key.removeprefix("view.") in view:
        return "view", key.removeprefix("view.")
    matches: list[tuple[Literal["system", "view"], str]] = []
    matches += [("system", path) for path in system if path.rsplit(".", 1)[-1] == key]
    matches += [("view", path) for path in view if path.rsplit(".", 1)[-1] == key]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join([*system, *(f"view.{path}" for path in view)])
    if matches:
        raise ValueError(f"`{key}` could be {' or '.join(path for _, path in matches)}; write the whole path")
    raise ValueError(
        f"`{key}` cannot move{nearest(key, [path.rsplit('.', 1)[-1] for path in [*system, *view]])}; what can: {names}"
    )


def _check_target(scene: Scene, key: str, value: Any) -> None:
    """A keyframe's value obeys the same rules as the field that it moves. Raises ValueError with the reason."""
    part, path = resolve_target(scene, key)
    model: BaseModel = getattr(scene, part)
    *parents, name = path.split(".")
    for parent in parents:
        model = getattr(model, parent)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"`{value}` is not a number")
    try:
        type(model).model_validate({**model.model_dump(), name: value})
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Input should be ")
        raise ValueError(f"`{value}` is out of range: it should be {reason}") from None
