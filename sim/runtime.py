"""Taichi, started once per process: which backend, how many threads, and nothing on stdout.

A second `ti.init` leaves every older field dangling, so `start` refuses one that asks for something else. Only `main.py`,
workers' entry points and `tests/conftest.py` call it.
"""

import contextlib
import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import taichi as ti

ARCHS = ("cpu", "cuda", "vulkan", "metal")
LANES = 16  # query tokens or grid points packed in one ti vector on the CPU: one AVX-512 register of f32, two of f64


class BackendUnavailable(RuntimeError):
    """The asked-for backend does not start on this machine."""


@dataclass(frozen=True)
class Machine:
    """What Taichi was started with."""

    arch: str
    threads: int

    @property
    def lanes(self) -> int:
        """How many elements a kernel should pack into one vector: the CPU backend does not vectorise by itself."""
        return LANES if self.arch == "cpu" else 1

    @property
    def f64(self) -> bool:
        """True doubles end to end. Taichi's Vulkan and Metal cannot compile f64 sin and exp."""
        return self.arch in ("cpu", "cuda")


_machine: Machine | None = None


def start(arch: str = "auto", threads: int | None = None) -> Machine:
    """Start Taichi on `arch` ("auto", "cpu", "cuda", "vulkan" or "metal"); repeated calls for the same thing are free.

    "auto" is a graphics card where one starts, else the CPU. Raises BackendUnavailable when the backend that was asked for
    does not start here, RuntimeError when Taichi already runs on another one.
    """
    global _machine  # noqa: PLW0603  (Taichi is itself one per process)
    if _machine is not None:
        if arch not in ("auto", _machine.arch) or threads not in (None, _machine.threads):
            raise RuntimeError(f"Taichi already runs on {_machine.arch} in this process; start a new one for {arch}")
        return _machine
    chosen = _pick(arch)
    count = threads or os.cpu_count() or 1
    with _quiet_stdout():
        ti.init(
            arch=getattr(ti, chosen),
            cpu_max_num_threads=count,
            default_fp=ti.f32,
            log_level=ti.ERROR,
            offline_cache=True,
        )
    running = _name_of(ti.lang.impl.current_cfg().arch)
    if running != chosen and arch != "auto":  # Taichi falls back to the CPU with a mere warning
        raise BackendUnavailable(f"the {chosen} backend does not start on this machine; see `phisphere doctor`")
    _machine = Machine(arch=running, threads=count)
    return _machine


def machine() -> Machine:
    """What runs now. Raises RuntimeError before `start`."""
    if _machine is None:
        raise RuntimeError("sim.runtime.start() has not been called")
    return _machine


def real_type(precision: str) -> Any:
    """Taichi's type for "f32" or "f64"."""
    return {"f32": ti.f32, "f64": ti.f64}[precision]


def probe(arch: str, seconds: float = 60.0) -> tuple[bool, str]:
    """Does `arch` really start and compute? Tried in a child process, since a failing backend can abort. -> (works, detail)."""
    command = [sys.executable, "-m", "sim.probe", arch]
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = {**os.environ, "PYTHONPATH": root + os.pathsep + os.environ.get("PYTHONPATH", "")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return False, f"no answer within {seconds:g} s"
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else f"exit code {done.returncode}"


def _pick(arch: str) -> str:
    if arch != "auto":
        if arch not in ARCHS:
            raise BackendUnavailable(f"unknown backend {arch!r}; choose from auto, {', '.join(ARCHS)}")
        if arch != "cpu" and not _built_in(arch):
            raise BackendUnavailable(f"the {arch} backend is not to be had on this machine; see `phisphere doctor`")
        return arch
    # Vulkan is not tried: where it is a software driver the packed CPU kernels are faster.
    return next((name for name in ("cuda", "metal") if _built_in(name)), "cpu")


def _built_in(arch: str) -> bool:
    """Does Taichi find the backend's driver? Without libcuda it would say so on stderr, so that is looked for first."""
    if arch == "cuda" and sys.platform != "darwin":
        try:
            ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so")
        except OSError:
            return False
    return bool(getattr(ti._lib.core, f"with_{arch}")())


def _name_of(arch: Any) -> str:
    name = str(arch).rsplit(".", 1)[-1]
    return "cpu" if name in ("x64", "arm64") else name


@contextlib.contextmanager
def _quiet_stdout() -> Iterator[None]:
    """Taichi's "Starting on arch" goes to stdout even at log level error; stdout carries only our own output."""
    sys.stdout.flush()
    kept = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        yield
        sys.stdout.flush()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(null)
