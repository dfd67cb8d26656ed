"""How far a recording is: a bar with rate and time left on a terminal, a few plain lines elsewhere."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

LINES = 10  # plain lines over a whole recording: logs are read, not watched


@contextlib.contextmanager
def progress(unit: str, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A callback (done, total) that shows progress on stderr while the context lasts; None when quiet."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar(unit) as report:
            yield report
    else:
        yield _plain(unit)


@contextlib.contextmanager
def _bar(unit: str) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Units per second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "", style="progress.data.speed")

    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _plain(unit: str) -> Callable[[int, int], None]:
    began = time.perf_counter()
    said = -1

    def report(done: int, total: int) -> None:
        nonlocal said
        part = done * LINES // total
        if part == said:
            return
        said = part
        rate = done / max(time.perf_counter() - began, 1e-9)
        print(f"{done}/{total} {unit}, {rate:.1f}/s, {(total - done) / rate:.0f} s left", file=sys.stderr, flush=True)

    return report
