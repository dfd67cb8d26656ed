"""Which part may import which, read from the sources; and what the light commands leave alone, measured in a process.

The rules of the house:   sim -> sim    scenes -> scenes    render -> render, scenes, sim    main -> all of them
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("main", "sim", "scenes", "render", "tests")
MAY_IMPORT = {"sim": {"sim"}, "scenes": {"scenes"}, "render": {"render", "scenes", "sim"}, "main": {"sim", "scenes", "render"}}
HEAVY = ("taichi", "matplotlib", "scipy", "PIL", "imageio_ffmpeg")
SOURCES = sorted([ROOT / "main.py", *(path for part in PARTS for path in (ROOT / part).rglob("*.py"))])


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported(tree: ast.Module) -> Iterator[str]:
    """Full names of all imported modules, wherever in the file the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            yield node.module or ""


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_run_one_way(part: str) -> None:
    allowed = MAY_IMPORT[part]
    wrong = [
        f"{name_of(path)} imports {module}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[0].removesuffix(".py") == part
        for module in imported(tree_of(path))
        if module.split(".")[0] in PARTS and module.split(".")[0] not in allowed
    ]
    assert not wrong


def test_taichi_is_started_where_processes_begin_and_nowhere_else() -> None:
    def starts(tree: ast.Module) -> bool:
        calls = (ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))
        return any(call in ("runtime.start", "ti.init", "ti.reset") for call in calls)

    starting = {name_of(path): path for path in SOURCES if starts(tree_of(path))}
    assert {"main.py", "tests/conftest.py"} <= starting.keys()
    begins = re.compile(r'^if __name__ == "__main__":', re.MULTILINE)
    programs = {name for name, path in starting.items() if begins.search(path.read_text(encoding="utf-8"))}
    assert starting.keys() - programs == {"tests/conftest.py", "sim/runtime.py"}


def test_types_are_checked_everywhere_but_in_files_with_kernels() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    skipped = next(override["module"] for override in config["overrides"] if override.get("ignore_errors"))
    kernel = re.compile(r"^\s*(@|\w+ = )ti\.(kernel|func|dataclass|data_oriented|real_func)\b", re.MULTILINE)
    with_kernels = {name_of(path) for path in SOURCES if kernel.search(path.read_text(encoding="utf-8"))}
    ours = {name.removesuffix(".py").replace("/", ".") for name in with_kernels if not name.startswith("tests/")}
    assert set(skipped) == ours


def test_every_package_is_packaged() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    found = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in SOURCES if path.parent != ROOT}
    assert set(packages) == {name for name in found if not name.startswith("tests")}


def loaded_after(program: str) -> list[str]:
    """The heavy packages that a Python process has imported after `program`."""
    ask = f"{program}\nimport json, sys\nprint(json.dumps(sorted(sys.modules.keys() & set({HEAVY!r}))), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stderr.strip().splitlines()[-1]))


def test_light_commands_load_nothing_heavy() -> None:
    commands = [[], ["list"], ["list", "--json"], ["check", "never_settles", "basins_chaos"], ["schema"]]
    helped = [["--help"], ["record", "--help"], ["live", "--help"], ["doctor", "--help"]]
    program = f"""
from main import main
for command in {commands!r}:
    assert main(command) == 0, command
for command in {helped!r}:
    try:
        main(command)
    except SystemExit as stop:
        assert stop.code == 0, command
"""
    assert loaded_after(program) == []


def test_the_theory_needs_no_taichi() -> None:
    assert "taichi" not in loaded_after("import sim.two_factor.theory, sim.system")


def test_simulating_loads_no_drawing() -> None:
    assert not {"matplotlib", "PIL"} & set(loaded_after("import sim.attention.flow, sim.two_factor.plane"))
