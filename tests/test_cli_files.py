"""What the commands make: films, pictures and tables, under which name, when replaced, and what a stop leaves behind.

Numbers in tables are checked as text: every one must be the shortest that reads back to the same double (Python's repr).
"""

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from main import main
from scenes.spec import ATTENTION_COLUMNS, PLANE_COLUMNS
from tests.scene_files import GLOBE, PLANE, write

ROOT = Path(__file__).resolve().parents[1]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> list[str]:
    """Every file below the folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def parsed(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_film_of_the_size_length_and_rate_asked_for(own_folder: Path, capfd: Capture) -> None:
    scene = write(own_folder, GLOBE, "one.yaml")
    assert main(["record", scene, "--size", "128x66", "--fps", "12", "--seconds", "0.75"]) == 0
    out, err = capfd.readouterr()
    assert out == f"{Path('recordings/one.mp4')}\n"  # nothing else on stdout, from Taichi or ffmpeg either
    assert "\r" not in err and err.count("\n") <= 11 and "9/9 frames" in err
    assert files(own_folder) == ["one.yaml", "recordings/one.mp4"]
    frames, seconds = imageio_ffmpeg.count_frames_and_secs("recordings/one.mp4")
    assert frames == 9 and seconds == pytest.approx(0.75, abs=0.01)
    reader = imageio_ffmpeg.read_frames("recordings/one.mp4")
    about = next(reader)
    reader.close()
    assert about["size"] == (128, 66) and about["fps"] == 12


def picture(name: str) -> tuple[NDArray[np.uint8], dict[str, str]]:
    """The pixels of a PNG and its text chunks."""
    with Image.open(name) as opened:
        return np.asarray(opened), dict(opened.info)


def test_a_picture_is_the_frame_at_its_time_and_says_how_it_was_made(own_folder: Path, capsys: Capture) -> None:
    scene = write(own_folder, GLOBE)
    for name, at in (("a.png", "0.2"), ("b.png", "0.2"), ("c.png", "0.4")):
        assert main(["still", scene, "-o", name, "--at", at, "--set", "system.weights.omega=2"]) == 0
    assert capsys.readouterr().out.split() == ["a.png", "b.png", "c.png"]
    a, b, c = (picture(name)[0] for name in ("a.png", "b.png", "c.png"))
    assert a.shape == (64, 96, 3)
    assert np.array_equal(a, b) and not np.array_equal(a, c)
    assert "still scene --at 0.2 --set system.weights.omega=2" in picture("a.png")[1]["Comment"]


@pytest.mark.parametrize("command", [["record", "-o", "x.mp4"], ["still", "-o", "x.png"], ["run", "--data", "x.csv"]])
def test_an_existing_file_is_kept_unless_forced(command: list[str], own_folder: Path, capsys: Capture) -> None:
    verb, option, target = command
    arguments = [verb, write(own_folder, GLOBE), option, target, "--quiet"]
    Path(target).write_bytes(b"precious")
    assert main(arguments) == 2
    assert "--force" in capsys.readouterr().err
    assert Path(target).read_bytes() == b"precious"
    assert main([*arguments, "--force"]) == 0
    assert Path(target).stat().st_size > 100
    assert capsys.readouterr() == (f"{target}\n", "")
    assert files(own_folder) == ["scene.yaml", target]


def test_paths_with_spaces_quotes_and_other_scripts(own_folder: Path, capsys: Capture) -> None:
    scene = write(own_folder, GLOBE.replace("title: Test", 'title: "Möbius\' β 球"'), "in dir/naïve 'β' 球.yaml")
    for command in (
        ["record", scene, "-o", "out dir/deep/naïve 'β' 球.mp4", "--seconds", "0.2"],
        ["still", scene, "-o", "out dir/naïve 'β' 球.png"],
        ["run", scene, "--data", "out dir/naïve 'β' 球.npz"],
    ):
        assert main(command) == 0
        assert Path(capsys.readouterr().out.rstrip("\n")).stat().st_size > 0


def test_rows_of_an_attention_scene(own_folder: Path, capfd: Capture) -> None:
    """dt = 0.05: rows every 2 steps up to t = 0.6 stand at 2 k * 0.05, k = 0 ... 6, and two runs agree to the bit."""
    command = ["run", write(own_folder, GLOBE), "--until", "0.6", "--every", "2"]
    assert main(command) == 0
    text = capfd.readouterr().out
    rows = parsed(text)
    assert tuple(rows[0]) == ATTENTION_COLUMNS
    assert [row["t"] for row in rows] == [repr(2 * k * 0.05) for k in range(7)]
    counts, noisy_only = {"clusters", "clusters_loose"}, {"drift", "ito", "martingale"}
    for row in rows:
        assert all(row[name] == str(int(row[name])) for name in counts)
        assert all(row[name] == "" for name in noisy_only)
        assert all(row[name] == repr(float(row[name])) for name in row.keys() - counts - noisy_only)
    assert float(rows[0]["edi_residual"]) == 0 == float(rows[0]["power_residual"])
    assert main([*command, "--data", "rows.csv"]) == 0
    assert Path("rows.csv").read_text(encoding="utf-8") == text
    capfd.readouterr()
    assert main([*command, "--json"]) == 0
    assert [{k: "" if v is None else repr(v) for k, v in row.items()} for row in json.loads(capfd.readouterr().out)] == rows
    assert main([*command, "--data", "rows.npz"]) == 0
    with np.load("rows.npz") as table:
        assert tuple(table) == ATTENTION_COLUMNS
        assert table["energy"].tolist() == [float(row["energy"]) for row in rows]


def test_rows_stand_about_one_per_film_frame_when_nothing_is_said(own_folder: Path, capfd: Capture) -> None:
    """10 frames/s over 0.5 s at dt = 0.05: a row every 2 steps, 6 with the one at t = 0."""
    assert main(["run", write(own_folder, GLOBE)]) == 0
    assert [float(row["t"]) for row in parsed(capfd.readouterr().out)] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])


def test_rows_of_a_plane_scene(own_folder: Path, capfd: Capture) -> None:
    """A row per film frame, mu on its way from 0.5 at 0 to 2.5 at 0.4 s; from mu = 2 on there is no ellipse to compare with."""
    assert main(["run", write(own_folder, PLANE)]) == 0
    rows = parsed(capfd.readouterr().out)
    assert tuple(rows[0]) == PLANE_COLUMNS
    assert [float(row["t"]) for row in rows] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert [float(row["mu"]) for row in rows] == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.5, 2.5])
    assert [row["misclassified"] == "" for row in rows] == [float(row["mu"]) >= 2 for row in rows]


def test_seed_option_is_the_scene_key(own_folder: Path, capfd: Capture) -> None:
    scene = write(own_folder, GLOBE)
    texts = []
    for options in (["--seed", "5"], ["--set", "seed=5"], []):
        assert main(["run", scene, "--until", "0.1", *options]) == 0
        texts.append(capfd.readouterr().out)
    assert texts[0] == texts[1] != texts[2]


def test_precision_option_reaches_the_system(own_folder: Path, capfd: Capture) -> None:
    """f32 carries 24 bits: its energy differs from the f64 one, in the 7th digit or later."""
    scene = write(own_folder, GLOBE)
    energies = []
    for precision in ("f32", "f64"):
        assert main(["run", scene, "--until", "0.1", "--precision", precision]) == 0
        energies.append(float(parsed(capfd.readouterr().out)[-1]["energy"]))
    assert energies[0] != energies[1] and energies[0] == pytest.approx(energies[1], rel=1e-5)


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The program as a process; SIGINT is given back its meaning, which a background job of a shell has lost."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  (no threads are running here)
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX signals")
@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_recording_leaves_nothing(signum: int, code: int, own_folder: Path) -> None:
    scene = write(own_folder, GLOBE)
    with running("record", scene, "-o", "film.mp4", "--seconds", "600") as process:
        assert process.stderr is not None
        assert "frames" in process.stderr.readline()  # it is under way
        process.send_signal(signum)
        out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert out == "" and "Traceback" not in err and "no file was kept" in err
    assert files(own_folder) == ["scene.yaml"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX signals")
def test_a_stopped_table_leaves_nothing(own_folder: Path) -> None:
    scene = write(own_folder, GLOBE)
    with running("run", scene, "--data", "rows.csv", "--until", "1e6") as process:
        deadline = time.monotonic() + 60
        while not list(own_folder.glob("rows.partial-*")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 143
    assert out == "" and "Traceback" not in err
    assert files(own_folder) == ["scene.yaml"]


def test_a_reader_that_leaves_early_is_no_error(own_folder: Path) -> None:
    scene = write(own_folder, GLOBE)
    with running("run", scene, "--until", "1e6", "--every", "1") as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith("t,energy")
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == ""
        process.stdout = None  # communicate() would read what is closed
