"""Ends of colour scales that stand still while values wander, with no memory of earlier frames."""

import numpy as np
from numpy.typing import NDArray

SERIES = (1, 1.5, 2, 3, 4, 6, 8, 10, 15)


def robust_max(values: NDArray[np.float32]) -> float:
    """The 99th percentile of at most about 10 000 of the values, evenly picked; 0 where none is finite."""
    picked = values[:: max(1, values.size // 10_000)]
    picked = picked[np.isfinite(picked)]
    return float(np.percentile(picked, 99)) if picked.size else 0.0


def rounded_up(value: float) -> float:
    """The smallest number of the series 1, 1.5, 2, 3, 4, 6, 8, 10, 15, ... times any power of ten that is >= value.

    1 where value is not a positive number.
    """
    if not (np.isfinite(value) and value > 0):
        return 1.0
    power = int(np.floor(np.log10(value)))
    tops = (float(f"{digits}e{power}") for digits in SERIES)  # decimals, so that 0.3 is 0.3
    return next(top for top in tops if top >= value * (1 - 1e-12))


def rounded_outwards(low: float, high: float) -> tuple[float, float]:
    """Multiples of a round step around [low, high], the step about a quarter of it; around a single value a little more."""
    step = rounded_up(max(high - low, 1e-6 * max(abs(low), abs(high)), 1e-12) / 4)
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return float(first * step), float(max(last, first + 1) * step)
