"""The running line of key numbers: what an audience should be able to read off at any moment, by kind of system."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from sim.system import Row
from sim.two_factor import theory

Numbers = list[tuple[str, str]]
"""(mathtext label, value as text), in reading order."""


def key_numbers(system: Any, row: Row | None, time: float) -> Numbers:
    """The numbers of `system` at the picture's system time; `row`: its newest diagnostics, None where none are kept."""
    return _plane(system) if system.kind == "two_factor_plane" else _attention(system, row or {}, time)


def shared(lines: Sequence[Numbers]) -> Numbers:
    """What is the same in every pane: the one line of a picture must hold for all of it."""
    return [entry for entry in lines[0] if all(entry in line for line in lines[1:])]


def _attention(system: Any, row: Row, time: float) -> Numbers:
    numbers = [("$t$", f"{time:.2f}"), ("$N,\\ H$", f"{system.count}, {system.heads}")]
    for name, label in (("energy", "$E$"), ("slope2", r"$|\partial E|^2$"), ("mean_speed", r"$\overline{|v|}$")):
        numbers += [(label, text) for text in [significant(row.get(name))] if text]
    if row.get("clusters") is not None:  # a count of clusters means nothing without its threshold
        numbers.append(("clusters", rf"{row['clusters']} at $\cos \geq {system.cluster_cosine:g}$"))
    return numbers


def _plane(system: Any) -> Numbers:
    return [(r"$\mu$", f"{system.mu:.4f}"), ("phase", theory.phase(system.mu)), ("steps", f"{system.iterations}")]


def significant(value: float | None, digits: int = 3) -> str:
    """`value` to a fixed number of significant digits, so that the line does not jump; empty for a value without meaning."""
    if value is None or not isfinite(value):
        return ""
    if value == 0 or 1e-3 <= abs(value) < 10**digits:
        return f"{value:#.{digits}g}".rstrip(".")
    if 10**digits <= abs(value) < 1e5:
        return f"{float(f'{value:.{digits}g}'):.0f}"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return rf"${mantissa}\times 10^{{{int(exponent)}}}$"
