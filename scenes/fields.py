"""The building blocks of the scene models: numbers that are really numbers, and parameters that may move.

YAML's booleans, strings and NaNs do not pass for numbers here, and `64.0` does not pass for a count.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict


class Misfit(ValueError):
    """A value that is fine alone but not where it stands. `path` leads to it from the model that found it."""

    def __init__(self, path: tuple[str | int, ...], reason: str) -> None:
        super().__init__(reason)
        self.path = path


class Spec(BaseModel):
    """A mapping in a scene file: unknown keys are refused, values are checked again on assignment."""

    model_config = ConfigDict(extra="forbid", validate_default=True, frozen=True, use_attribute_docstrings=True)


Real = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Strict(), Field(ge=1)]
Flag = Annotated[bool, Strict()]
Triple = tuple[Real, Real, Real]
Rows = tuple[Triple, Triple, Triple]
Matrix = Real | Triple | Rows
"""A 3x3 matrix: a number c is c I, three numbers are the diagonal, three rows are the matrix itself."""


@dataclass(frozen=True)
class Live:
    """Marks a numeric field that a slider, a timeline keyframe or another program may change while the scene runs.

    `low`..`high` is the slider's range, `label` its matplotlib mathtext, `unit` what one unit of it is.
    """

    low: float
    high: float
    label: str
    unit: str = ""


@dataclass(frozen=True)
class LiveParameter:
    """A live field of one scene, found by `live_parameters`."""

    path: str  # dotted, relative to the model it was found in: "weights.omega"
    value: float
    live: Live


def live_parameters(spec: BaseModel, prefix: str = "") -> list[LiveParameter]:
    """Every live field of `spec` that holds a plain number, in declaration order, nested models included."""
    found: list[LiveParameter] = []
    for name, info in type(spec).model_fields.items():
        value: Any = getattr(spec, name)
        if isinstance(value, BaseModel):
            found += live_parameters(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            marks = [mark for mark in info.metadata if isinstance(mark, Live)]
            found += [LiveParameter(f"{prefix}{name}", float(value), mark) for mark in marks]
    return found
