"""Scene keys of system B, the two-factor map Phi_mu (arXiv 2605.21292)."""

from typing import Annotated, Literal

from pydantic import Field

from scenes.fields import Count, Live, Positive, Real, Spec

MAX_ITERATIONS = 1_000_000


class Window(Spec):
    """The part of the plane that is shown; the height follows from the picture's shape, so circles stay round."""

    center: tuple[Real, Real] = (0.0, 0.0)
    """(a, b) of the middle of the picture."""
    width: Annotated[Positive, Field(le=1e6)] = 5.2
    """Width of the picture in units of a."""


class TwoFactorPlane(Spec):
    """Orbits of Phi_mu from every point of a window of the plane."""

    kind: Literal["two_factor_plane"]
    mu: Annotated[Real, Field(ge=-10, le=10), Live(0, 2.5, r"$\mu$")] = 0.9
    """The map's parameter: step size times target."""
    axes: tuple[Literal["a"], Literal["b"]] = ("a", "b")
    """What runs along x and y."""
    window: Window = Window()
    """The part of the plane that is shown."""
    iterations: Annotated[Count, Field(le=MAX_ITERATIONS)] = 400
    """Steps of every orbit at most."""
    precision: Literal["auto", "f32", "f64"] = "auto"
    """auto: f32 while a pixel is wide enough for it, then f64."""
