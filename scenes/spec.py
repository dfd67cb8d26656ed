"""What a scene may say: the one place for names, defaults, ranges and units.

The models of each part stand in their own file (`attention`, `two_factor`, `views`); `Scene` puts them together and checks
what no part can check alone.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from scenes.attention import AttentionSystem
from scenes.fields import Count, Real, Spec, live_parameters
from scenes.two_factor import TwoFactorPlane
from scenes.views import AnyView, Film, GlobeView, Keyframe, Pane

MAX_PANES = 9
MAX_SAMPLES = 2**28  # grid points or pixels alive at once; Taichi aborts the process past 2^31 cells

AnySystem = Annotated[AttentionSystem | TwoFactorPlane, Field(discriminator="kind")]
Panel = Literal["slope2", "energy", "balance", "speed", "clusters"]
ATTENTION_COLUMNS = ("t", "energy", "slope2", "edi_residual", "power_residual", "mean_speed", "clusters")
PLANE_COLUMNS = ("t", "mu", "bounded_fraction", "bounded_area", "ellipse_area", "misclassified")


class Scene(Spec):
    """One phenomenon: a system, how it is seen, and what must come out (`expect`, checked over all shipped scenes)."""

    title: str
    caption: str = ""
    source: str = ""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = 0
    system: AnySystem
    view: AnyView
    panels: list[Panel] = []
    film: Film = Film()
    timeline: list[Keyframe] = []
    panes: Annotated[list[Pane], Field(max_length=MAX_PANES)] = []
    expect: dict[str, tuple[Real, Real]] = {}

    @model_validator(mode="after")
    def _view_fits_system(self) -> "Scene":
        globe = isinstance(self.view, GlobeView)
        if globe != isinstance(self.system, AttentionSystem):
            raise ValueError(f"view.kind `{self.view.kind}` cannot show a system of kind `{self.system.kind}`")
        return self
