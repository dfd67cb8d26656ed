"""The command line: what it says, what it refuses, and its exit codes. In this process wherever that shows the same.

Exit codes: 0, 2 for what the user can put right (a line each, no traceback), 3 for a system that diverged.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from main import build_parser, main
from scenes.load import shipped
from tests.scene_files import DIVERGES, GLOBE, WRONG, write

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = ("list", "check", "schema", "live", "record", "still", "run", "doctor")
Refused = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """Runs a command that must end with exit code 2 and nothing on stdout; the lines that it says instead."""

    def run(*arguments: str) -> list[str]:
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert out == "" and "Traceback" not in err
        return err.splitlines()

    return run


def child(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """The program as a process of its own."""
    command = [sys.executable, str(ROOT / "main.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_bare_program_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_in_an_example_that_is_read(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    example = capsys.readouterr().out.split("example: phisphere ")[1]
    words = example.split(">")[0].split()
    assert words[0] == command
    build_parser().parse_args(words)


@pytest.mark.parametrize("arguments", [["dance"], ["record"], ["still", "clusters", "--at", "soon"], ["live", "--size", "12"]])
def test_malformed_commands(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "error:" in capsys.readouterr().err


def test_list_in_a_process_prints_json_alone() -> None:
    done = child("list", "--json")
    assert done.returncode == 0 and done.stderr == ""
    listed = {scene["name"]: scene for scene in json.loads(done.stdout)}
    assert set(listed) == {path.stem for path in (ROOT / "scenes").glob("*.yaml")}
    assert all(scene["title"] and scene["source"] for scene in listed.values())


def test_list_has_one_line_for_each_scene(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [scene.name for scene in shipped()]


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert {"title", "system", "view"} <= set(schema["required"])


def test_check_says_what_is_right_and_what_is_wrong(own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = write(own_folder, WRONG)
    assert main(["check", "never_settles", wrong]) == 2
    out, err = capsys.readouterr()
    assert out == "never_settles: ok\n"
    lines = err.splitlines()
    assert any(line.startswith(f"{wrong}:4: system.betta: ") for line in lines)
    assert any(line.startswith(f"{wrong}:5: system.dt: ") for line in lines)


def test_check_as_json(own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = write(own_folder, WRONG)
    assert main(["check", "never_settles", wrong, "--json"]) == 2
    good, bad = json.loads(capsys.readouterr().out)
    assert good == {"scene": "never_settles", "ok": True, "problems": []}
    assert bad["scene"] == wrong and not bad["ok"] and len(bad["problems"]) >= 2


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("system.haeds=4", "heads"),  # the nearest right name
        ("system.heads=many", "system.heads"),
        ("system.heads=true", "system.heads"),
        ("system.dt=1e400", "system.dt"),
        ("film.size=[1000000, 64]", "film.size"),
        ("system.heads", "key=value"),
    ],
)
def test_wrong_overrides(override: str, said: str, refused: Refused) -> None:
    (line,) = set(refused("check", "never_settles", "--set", override))
    assert f"--set {override}" in line and said in line


def test_options_are_checked_like_the_scene(refused: Refused) -> None:
    for option in (["--fps", "nan"], ["--seconds", "-1"], ["--size", "0x0"], ["--seed", "-1"]):
        (line, *_) = refused("record", "never_settles", *option)
        assert option[0][2:] in line


def test_unknown_scene(refused: Refused) -> None:
    (line,) = refused("check", "never_setles")
    assert "did you mean `never_settles`" in line


@pytest.mark.parametrize("target", ["film.txt", "film", "film.png", "scene.yaml/film.mp4", "."])
def test_impossible_outputs_are_refused_before_anything_is_made(target: str, own_folder: Path, refused: Refused) -> None:
    scene = write(own_folder, GLOBE)
    (line,) = refused("record", scene, "-o", target)
    assert target in line
    assert [path.name for path in own_folder.iterdir()] == ["scene.yaml"]


def test_odd_sides_are_refused_with_the_nearest_even_ones(own_folder: Path, refused: Refused) -> None:
    (line,) = refused("record", write(own_folder, GLOBE), "--size", "97x65")
    assert "98x66" in line


def test_missing_encoder_is_said_before_simulating(own_folder: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(own_folder / "ffmpeg"))
    (line,) = refused("record", write(own_folder, GLOBE))
    assert "IMAGEIO_FFMPEG_EXE" in line


@pytest.mark.parametrize(
    "options",
    [
        ["run", "--until", "-1"],
        ["run", "--until", "inf"],
        ["run", "--every", "0"],
        ["run", "--data", "rows.xlsx"],
        ["run", "--data", "rows.csv", "--json"],
        ["still", "--at", "-1"],
        ["still", "--at", "nan"],
    ],
)
def test_impossible_options(options: list[str], own_folder: Path, refused: Refused) -> None:
    command, option, value, *_ = options
    (line,) = refused(command, write(own_folder, GLOBE), *options[1:])
    assert option in line or value in line


def test_backend_that_this_machine_lacks(own_folder: Path) -> None:
    arch = "cuda" if sys.platform == "darwin" else "metal"
    done = child("still", write(own_folder, GLOBE), "--arch", arch)
    assert done.returncode == 2 and done.stdout == ""
    assert arch in done.stderr and len(done.stderr.splitlines()) == 1


def test_divergence_has_its_own_exit_code_and_leaves_no_file(own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = write(own_folder, DIVERGES)
    for command in (
        ["record", scene, "--quiet"],
        ["still", scene, "--at", "0.4"],
        ["run", scene, "--data", "rows.csv", "--quiet"],
    ):
        assert main(command) == 3
        out, err = capsys.readouterr()
        assert out == "" and len(err.splitlines()) == 1
    assert [path for path in own_folder.rglob("*") if path.is_file()] == [own_folder / "scene.yaml"]
