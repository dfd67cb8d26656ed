"""The rows of `run` as CSV, JSON or .npz, every number to the last bit. No pictures here, but the same sinks' manners."""

import csv
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TextIO

import numpy as np

from render.video import partial_name, publish
from scenes.errors import UserError
from sim.system import Row

TABLES = (".csv", ".npz")


def watched(
    rows: Iterable[Row], end: float, report: Callable[[int, int], None] | None, check: Callable[[], None]
) -> Iterator[Row]:
    """The same rows, reporting (done, in all) on the way and calling `check`, which may raise, before each.

    `end` is the last row's time; rows stand at equal steps from 0.
    """
    total = 1
    for done, row in enumerate(rows, start=1):
        check()
        if done == 2 and (step := row["t"]):
            total = 1 + math.floor(end / step + 1e-6)
        if report is not None and done > 1:
            report(done, total)
        yield row


def write_table(rows: Iterable[Row], target: Path | None, *, as_json: bool, force: bool) -> int:
    """Write the rows to `target` (.csv or .npz), or to stdout as CSV or JSON; returns how many.

    A file appears under its name only when it is whole. A quantity without a meaning is an empty field in CSV, null in
    JSON and NaN in .npz. Raises UserError when the file cannot be written.
    """
    if target is None:
        return _json(rows, sys.stdout) if as_json else _csv(rows, sys.stdout)
    partial = partial_name(target)
    try:
        if target.suffix.lower() == ".csv":
            with partial.open("w", encoding="utf-8", newline="") as file:
                count = _csv(rows, file)
        else:
            count = _npz(list(rows), partial)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UserError(f"{target}: {error.strerror or error}; nothing was kept") from error
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    publish(partial, target, force)
    return count


def _csv(rows: Iterable[Row], file: TextIO) -> int:
    count = 0
    writer = csv.writer(file, lineterminator="\n")
    for row in rows:
        if not count:
            writer.writerow(row)
        writer.writerow(["" if value is None else repr(value) for value in row.values()])
        file.flush()
        count += 1
    return count


def _json(rows: Iterable[Row], file: TextIO) -> int:
    held = [{key: _finite(value) for key, value in row.items()} for row in rows]
    json.dump(held, file, indent=1)
    file.write("\n")
    return len(held)


def _npz(rows: list[Row], path: Path) -> int:
    columns = {name: np.array([math.nan if row[name] is None else row[name] for row in rows]) for name in rows[0]}
    with path.open("wb") as file:
        np.savez(file, **columns)  # type: ignore[arg-type]
    return len(rows)


def _finite(value: float | int | None) -> float | int | None:
    """JSON has no infinity."""
    return value if value is None or math.isfinite(value) else None
