"""Ctrl-C and SIGTERM, so that neither gets lost.

A signal handler that only raises is not enough: Taichi 1.7.4 compiles kernels with bare `except:` around parts of its work
(`lang/kernel_impl.py`, `lang/util.py`), and what is raised there disappears. So a signal is also remembered, and long loops ask.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Terminated(BaseException):
    """SIGTERM arrived. Not an Exception, so that no library swallows it before every file is put in order."""


class Signals:
    """What has arrived so far: `caught` is the first signal's number, or None."""

    def __init__(self) -> None:
        self.caught: int | None = None

    def check(self) -> None:
        """Raise KeyboardInterrupt or Terminated if a signal has arrived, even if it was raised before and got lost."""
        if self.caught is not None:
            raise KeyboardInterrupt if self.caught == signal.SIGINT else Terminated

    def arrive(self, signum: int, _frame: FrameType | None) -> None:
        """The handler."""
        self.caught = signum
        self.check()


@contextlib.contextmanager
def listening() -> Iterator[Signals]:
    """SIGINT and SIGTERM raise inside and are remembered; one that was ignored before (nohup, a background job) stays so."""
    signals = Signals()
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield signals
        return
    before = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)}
    heard = {signum: old for signum, old in before.items() if old is not signal.SIG_IGN and old is not None}
    for signum in heard:
        signal.signal(signum, signals.arrive)
    try:
        yield signals
    finally:
        for signum, old in heard.items():
            signal.signal(signum, old)
