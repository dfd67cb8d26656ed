"""What every simulated system promises to the player, to the views and to the diagnostics table."""

from collections.abc import Mapping
from typing import Protocol

Row = dict[str, float | int | None]


class Diverged(RuntimeError):
    """The state stopped being finite. The message says when, why, and what would help."""


class System(Protocol):
    """A system lives on the grid t = k dt (always k * dt, never a running sum) and is stepped by the player alone."""

    kind: str
    dt: float
    step_index: int

    @property
    def time(self) -> float:
        """System time of the newest state, `step_index * dt`."""
        ...

    def step(self) -> None:
        """Advance by one dt. Raises Diverged when the new state is not finite."""
        ...

    def reset(self) -> None:
        """Go back to t = 0 with the same seed: the trajectory repeats to the bit."""
        ...

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """Change live parameters (dotted paths as in the scene's `system`), without recompiling anything."""
        ...

    def diagnostics(self) -> Row:
        """The current row of the `run` table: column name -> value, None where the quantity has no meaning."""
        ...

    def release(self) -> None:
        """Free device memory. The system must not be used afterwards."""
        ...
