"""Taichi is started once for the whole run, on the CPU: a second start would leave every older array dangling."""

import pytest

from sim import runtime


@pytest.fixture(scope="session", autouse=True)
def machine():
    """The CPU backend, whatever else this machine has: every test has an answer there."""
    return runtime.start("cpu")
