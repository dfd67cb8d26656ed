"""Scene keys of what is drawn: views, camera, film, timeline, panes."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from scenes.fields import Count, Flag, Live, NonNegative, Positive, Real, Spec

MAX_SIDE = 8192


class Camera(Spec):
    """An orbit camera that looks at the centre of the sphere. Angles in degrees."""

    azimuth: Annotated[Real, Live(-360, 360, "azimuth", "degrees")] = 30.0
    """Longitude of the camera, degrees."""
    elevation: Annotated[Real, Field(ge=-90, le=90), Live(-90, 90, "elevation", "degrees")] = 20.0
    """Latitude of the camera, degrees."""
    zoom: Annotated[Positive, Field(ge=0.1, le=100), Live(0.3, 5, "zoom")] = 1.0
    """1 fits the sphere into the picture's height with a margin."""
    spin: Annotated[Real, Live(-60, 60, "spin", "degrees per second of film")] = 0.0
    """Turning of the camera, degrees of azimuth per second of film."""


class GlobeView(Spec):
    """Tokens as shaded balls on a translucent globe."""

    kind: Literal["globe"]
    color: Literal["start", "speed", "cluster", "affinity", "plain"] = "start"
    """What the colour of a token shows: where it started, its speed, its cluster, the head that pulls it hardest, or nothing."""
    field: Literal["none", "density", "b", "potential", "speed"] = "none"
    """Painted on the sphere: token density over the uniform one, metric weight b, potential U, or speed of a test token."""
    concentration: Annotated[Positive, Field(le=2000)] | Literal["auto"] = "auto"
    """kappa of the von Mises-Fisher kernel of `field: density`; auto is wider for fewer tokens."""
    glyphs: Flag = False
    """Draw the eigen-axes of every theta_h(t): arcs as long as |lambda|, on a disc where > 0, on a ring where < 0."""
    arrows: Literal["none", "flow", "all"] | Count = "none"
    """Drift on an even grid: of the whole flow, of all heads, or of one head by its number from 1."""
    heads: list[Count] | Literal["all"] = "all"
    """Numbers, from 1, of the heads that glyphs and `arrows: all` show."""
    trails: Annotated[NonNegative, Field(le=1e6)] = 0.0
    """Length of the fading trail behind each token, in units of system time; 0 draws none."""
    camera: Camera = Camera()
    """Where the globe is looked at from."""
    token_radius: Annotated[Positive, Field(le=0.2)] | Literal["auto"] = "auto"
    """Radius of a token's ball in units of the sphere's; auto shrinks with the number of tokens."""
    speed_max: Annotated[Positive, Field(le=1e9)] | Literal["auto"] = "auto"
    """Speed at the upper end of `color: speed`; auto is a round number at or above nearly all speeds of the moment."""
    globe: Flag = True
    """Draw the translucent globe."""
    graticule: Flag = True
    """Draw its meridians and parallels."""


class PlaneView(Spec):
    """The outcome of every orbit as a colour, exact curves over it, axes around it."""

    kind: Literal["plane"]
    color: Literal["auto", "escape", "outcome", "landing", "sharpness", "branch", "phase", "lyapunov"] = "auto"
    """auto: the colouring that answers the right question in the phase that mu is in."""
    curves: list[Literal["ellipse", "zero_error", "balanced", "antibalanced"]] = ["ellipse", "zero_error"]
    """Exact curves over the picture."""
    axes: Flag = True
    """Draw axes with ticks and labels."""
    colorbar: Flag = True
    """Say beside the picture what its colours mean."""
    supersample: Annotated[Count, Field(le=4)] = 2
    """Samples per pixel along each axis."""


AnyView = Annotated[GlobeView | PlaneView, Field(discriminator="kind")]


class Film(Spec):
    """Size, rate, length, and how fast system time runs."""

    size: tuple[Annotated[Count, Field(ge=64, le=MAX_SIDE)], Annotated[Count, Field(ge=64, le=MAX_SIDE)]] = (1280, 720)
    """Width and height in pixels."""
    fps: Annotated[Positive, Field(le=240)] = 30
    """Frames per second."""
    seconds: Annotated[Positive, Field(le=86_400)] = 20
    """Length in seconds."""
    speed: Annotated[NonNegative, Field(le=1e6)] = 1.0
    """System time per second of film."""


class Keyframe(Spec):
    """From `at` (seconds of film) on: a caption, and values that live parameters have reached by then.

    Every key but `at`, `ease` and `caption` is a live parameter: a dotted path within `system` (`weights.beta`), within
    the view when it starts with `view.` (`view.camera.azimuth`), or the last name alone where that is unique (`mu`).
    `ease` says how the value moves on the way *to* this keyframe.
    """

    model_config = ConfigDict(extra="allow")

    at: NonNegative
    """Seconds of film."""
    ease: Literal["linear", "smooth", "hold"] = "linear"
    """How the values move on the way to this keyframe."""
    caption: str | None = None
    """Replaces the caption from `at` on."""

    @property
    def targets(self) -> dict[str, Any]:
        """The live parameters this keyframe sets, as written."""
        return dict(self.model_extra or {})


class Pane(Spec):
    """One of several systems on one clock: overrides of `system` and `view`, and a label."""

    label: str = ""
    """Drawn in the corner of the pane."""
    system: dict[str, Any] = {}
    """Keys of `system` that differ in this pane."""
    view: dict[str, Any] = {}
    """Keys of `view` that differ in this pane."""
