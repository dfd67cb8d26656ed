"""What this machine can do: backends, window, encoder, fonts; what each missing thing costs, and how to get it.

Whatever could end the process (a Taichi backend, a Vulkan driver, a display library) is tried in a child process.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from scenes.errors import UserError
from sim import runtime

ROOT = Path(__file__).resolve().parents[1]
CHILD_SECONDS = 60.0
PACKAGES = ("phisphere", "taichi", "numpy", "scipy", "matplotlib", "imageio-ffmpeg", "pydantic")
ENCODERS = ("libx264", "libx265", "libvpx-vp9", "libsvtav1", "gif", "prores_ks")
VECTORS = ("avx512f", "avx2", "avx", "asimd", "sse4_2")  # widest first
Findings = dict[str, Any]


def examine() -> Findings:
    """Try everything, a few seconds in all. Plain data, for `doctor --json`; `missing` lists what could be better."""
    questions: dict[str, Callable[[], Any]] = {
        "backends": _backends,
        "vulkan": lambda: _ask_child("vulkan", {"devices": []}),
        "window": lambda: _ask_child("window", {}),
        "ffmpeg": _ffmpeg,
        "fonts": _fonts,
    }
    with ThreadPoolExecutor(2) as pool:
        answers = {name: pool.submit(question) for name, question in questions.items()}
        findings: Findings = {"system": _system(), "packages": {name: _version(name) for name in PACKAGES}}
        findings |= {name: answer.result() for name, answer in answers.items()}
    findings["display"] = {name: os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")}
    findings["missing"] = _missing(findings)
    return findings


def report(findings: Findings) -> str:
    """The findings for a person."""
    system, vulkan, window, ffmpeg, fonts = (findings[key] for key in ("system", "vulkan", "window", "ffmpeg", "fonts"))
    memory = f", {system['memory_gib']:.1f} GiB" if system["memory_gib"] else ""
    vectors = f", {system['vectors']}" if system["vectors"] else ""
    lines = [
        ("system", f"{system['platform']}, Python {system['python']}"),
        ("processor", f"{system['processor']}, {system['threads']} threads{vectors}{memory}"),
        ("packages", ", ".join(f"{name} {number}" for name, number in findings["packages"].items() if number)),
    ]
    for backend in findings["backends"]:
        lines.append((f"Taichi {backend['arch']}", ", ".join(backend["precisions"]) or f"no: {backend['problem']}"))
    lines += [("Vulkan", f"{device['name']}, {device['type']}, Vulkan {device['vulkan']}") for device in vulkan["devices"]]
    if not vulkan["devices"]:
        lines.append(("Vulkan", f"no: {vulkan['problem'] or 'no device'}"))
    lines.append(("window", f"no: {window['problem']}" if window["problem"] else "can open"))
    found = f"{ffmpeg['path']}, {ffmpeg['version']}; {', '.join(ffmpeg['encoders'])}"
    lines.append(("ffmpeg", f"no: {ffmpeg['problem']}" if ffmpeg["problem"] else found))
    lines.append(("fonts", f"no: {fonts['problem']}" if fonts["problem"] else f"{fonts['family']} ({fonts['path']})"))
    width = max(len(name) for name, _ in lines)
    text = [f"{name:<{width}}  {what}" for name, what in lines]
    for gap in findings["missing"]:
        text += ["", f"missing: {gap['what']}", f"  cost: {gap['cost']}", f"  get it: {gap['remedy']}"]
    return "\n".join([*text, "", _summary(findings)])


def _summary(findings: Findings) -> str:
    film = not findings["ffmpeg"]["problem"]
    window = not findings["window"]["problem"]
    works = ["run", "still", *(["record"] if film else []), *(["live"] if window else [])]
    return f"works here: {', '.join(works)}"


def _system() -> Findings:
    described = _cpuinfo()
    flags = set((described.get("flags") or described.get("Features") or "").split())
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "processor": described.get("model name") or platform.processor() or platform.machine(),
        "threads": os.cpu_count(),
        "vectors": next((name for name in VECTORS if name in flags), None),
        "memory_gib": _memory(),
    }


def _cpuinfo() -> dict[str, str]:
    """The first processor in Linux' list; empty elsewhere."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _memory() -> float | None:
    """GiB of memory, None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _backends() -> list[Findings]:
    found = []
    for arch in runtime.ARCHS:
        works, detail = runtime.probe(arch)
        precisions = detail.split(", ") if works else []
        problem = None if works else detail.removesuffix("; see `phisphere doctor`")
        found.append({"arch": arch, "works": works, "precisions": precisions, "problem": problem})
    return found


def _ask_child(question: str, otherwise: Findings) -> Findings:
    """The JSON that `python -m render.devices` prints; `otherwise`, and the problem, when it does not get so far."""
    command = [sys.executable, "-m", "render.devices", question]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CHILD_SECONDS, env=environment, check=False)
        answer: Findings = json.loads(done.stdout.strip().splitlines()[-1])
        return answer
    except subprocess.TimeoutExpired:
        return {**otherwise, "problem": f"no answer within {CHILD_SECONDS:g} s"}
    except (IndexError, ValueError):
        said = done.stderr.strip().splitlines()
        return {**otherwise, "problem": said[-1] if said else f"asking ended with exit code {done.returncode}"}


def _ffmpeg() -> Findings:
    from render.ffmpeg import check_encoder, encoders, executable

    try:
        path = executable()
        first = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=CHILD_SECONDS, check=False).stdout
        known = encoders(path)
        check_encoder()
    except (UserError, OSError, subprocess.SubprocessError) as error:
        return {"path": None, "version": None, "encoders": [], "problem": str(error)}
    number = (first.split() or ["", "", "?"])[2:3]
    return {"path": path, "version": "".join(number), "encoders": [name for name in ENCODERS if name in known], "problem": None}


def _fonts() -> Findings:
    from matplotlib import font_manager

    from render.text import FAMILY

    try:
        path = str(font_manager.findfont(FAMILY, fallback_to_default=False))
    except ValueError:
        return {"family": FAMILY, "path": None, "problem": f"matplotlib does not find {FAMILY}, which comes with it"}
    return {"family": FAMILY, "path": path, "problem": None}


def _missing(findings: Findings) -> list[dict[str, str]]:
    """What is not there, what that costs, and how to get it on this system."""
    gaps = []
    working = {backend["arch"] for backend in findings["backends"] if backend["works"]}
    if "cpu" not in working:
        cost = "nothing can be simulated"
        gaps.append(
            {"what": "Taichi on the CPU", "cost": cost, "remedy": "reinstall: pip install --force-reinstall 'taichi>=1.7.4'"}
        )
    if not working & {"cuda", "metal"}:
        cost = "systems run on the processor: the same pictures, with fewer tokens or coarser planes in real time"
        gaps.append({"what": "a graphics card that Taichi computes on", "cost": cost, "remedy": _for_system(CARD)})
    if not findings["vulkan"]["devices"] and sys.platform != "darwin":
        cost = "no window (`live`); `record`, `still` and `run` do not need it"
        gaps.append({"what": "a Vulkan driver", "cost": cost, "remedy": _for_system(VULKAN)})
    problem = findings["window"]["problem"] or ""
    if problem and not problem.startswith("no Vulkan"):  # that one is already in the list
        cost = "no window (`live`); `record`, `still` and `run` do not need it"
        gaps.append({"what": f"a screen: {problem.split(';')[0]}", "cost": cost, "remedy": _for_system(DISPLAY)})
    if findings["ffmpeg"]["problem"]:
        remedy = "pip install --force-reinstall imageio-ffmpeg, and unset IMAGEIO_FFMPEG_EXE"
        gaps.append(
            {"what": "ffmpeg with H.264", "cost": "no films (`record`); `still` and `run` do not need it", "remedy": remedy}
        )
    if findings["fonts"]["problem"]:
        remedy = "pip install --force-reinstall matplotlib"
        gaps.append({"what": "the font of titles and axes", "cost": "type in another font", "remedy": remedy})
    return gaps


CARD = {
    "linux": "an NVIDIA card with NVIDIA's driver; `nvidia-smi` shows whether both are there",
    "darwin": "an Apple silicon Mac has one",
    "win32": "an NVIDIA card with NVIDIA's driver",
}
VULKAN = {
    "linux": (
        "the graphics card's driver, or the software one. Debian, Ubuntu: sudo apt install libvulkan1 mesa-vulkan-drivers; "
        "Fedora: sudo dnf install vulkan-loader mesa-vulkan-drivers; Arch: sudo pacman -S vulkan-icd-loader vulkan-swrast"
    ),
    "darwin": "it comes with Taichi (MoltenVK)",
    "win32": "the graphics card maker's current driver",
}
DISPLAY = {
    "linux": (
        "start it from a desktop session (on Wayland with Xwayland). On a server, a virtual screen: "
        "sudo apt install xvfb, then xvfb-run -s '-screen 0 1280x720x24' phisphere live"
    ),
    "darwin": "start it from a session that is logged in on the screen, not over SSH",
    "win32": "start it from a desktop session",
}


def _for_system(remedies: dict[str, str]) -> str:
    return remedies.get(sys.platform, remedies["linux"])
