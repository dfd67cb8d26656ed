"""The command line of phisphere: parse, wire, report. No mathematics, no drawing.

stdout carries results only; what is said on the way goes to stderr. Exit codes: 0, 2 for what the user can put right (one
line a problem, no traceback), 3 when a system diverged, 130 and 143 for Ctrl-C and SIGTERM. Nothing heavy is imported before
a command needs it: `--help`, `list`, `check` and `schema` load neither Taichi nor matplotlib.
"""

import argparse
import io
import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from render.stop import Terminated, listening
from scenes.errors import UserError
from sim.system import Diverged

if TYPE_CHECKING:
    from scenes.spec import Scene

USER_ERROR, DIVERGED, INTERRUPTED, TERMINATED = 2, 3, 130, 143
RECORDINGS = Path("recordings")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: this process's) and return its exit code; a malformed one raises SystemExit(2)."""
    for stream in (sys.stdout, sys.stderr):  # a title in Greek must not end the program on a terminal that has no Greek
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    return _carry_out(options)


def _carry_out(options: argparse.Namespace) -> int:
    """Run the command; whatever ends it early becomes one line and an exit code."""
    try:
        with listening() as signals:
            options.signals = signals
            return int(options.run(options))
    except UserError as error:
        line, code = str(error), USER_ERROR
    except Diverged as error:
        line, code = f"{options.scene}: {error}; nothing was kept", DIVERGED
    except KeyboardInterrupt:
        line, code = "stopped", INTERRUPTED
    except Terminated:
        line, code = "stopped", TERMINATED
    except BrokenPipeError:  # the reader of stdout has gone, as `head` does; the interpreter must not flush into it again
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    print(line, file=sys.stderr)
    return code


def build_parser() -> argparse.ArgumentParser:
    """Every command with its options; `--help` of each ends in an example."""
    parser = argparse.ArgumentParser(
        prog="phisphere",
        description="Tokens on the sphere and the two-factor map: live, as films, as pictures and as numbers.",
        epilog="example: phisphere record never_settles\n\n"
        "`phisphere COMMAND --help` says more; `python main.py COMMAND` is the same program.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str, example: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text, epilog=f"example: phisphere {example}", allow_abbrev=False)
        sub.set_defaults(run=run)
        return sub

    sub = command("list", _list, "The shipped scenes, a line each.", "list --json")
    _json(sub)
    sub = command("check", _check, "Check scene files without running them.", "check my_scene.yaml never_settles")
    sub.add_argument("scenes", nargs="+", metavar="SCENE", help="a shipped name, or a path to a .yaml file")
    _overrides(sub)
    _json(sub)
    command("schema", _schema, "Print the JSON schema of scene files, for editors.", "schema > phisphere.schema.json")

    sub = command("live", _live, "Open the window.", "live basins_catapult")
    _scene(sub, default="never_settles")
    sub.add_argument("--size", type=_size, metavar="WxH", help="size of the window (default: the scene's film)")
    sub.add_argument("--at", type=float, default=0.0, metavar="T", help="seconds of film to begin at")
    sub.add_argument("--paused", action="store_true", help="begin paused")
    _machine(sub)

    sub = command("record", _record, "Record a scene to an MP4.", "record never_settles -o talk.mp4 --size 1920x1080")
    _scene(sub)
    _output(sub, "FILE.mp4", "default: recordings/NAME.mp4")
    sub.add_argument("--size", type=_size, metavar="WxH", help="size of the picture in pixels")
    sub.add_argument("--fps", type=float, metavar="F", help="frames per second, as --set film.fps=F")
    sub.add_argument("--seconds", type=float, metavar="S", help="length of the film, as --set film.seconds=S")
    _machine(sub)

    sub = command("still", _still, "Draw one picture.", "still basins_chaos --at 3 -o chaos.png")
    _scene(sub)
    _output(sub, "FILE.png", "default: recordings/NAME.png")
    sub.add_argument("--size", type=_size, metavar="WxH", help="size of the picture in pixels")
    sub.add_argument("--at", type=float, default=0.0, metavar="T", help="seconds of film to draw at")
    _machine(sub)

    sub = command("run", _run, "The diagnostics against time, without pictures.", "run paper_s2_ou --until 20 --data ou.csv")
    _scene(sub)
    sub.add_argument("--until", type=float, metavar="T", help="system time to run to (default: the end of the film)")
    sub.add_argument("--every", type=int, metavar="K", help="a row every K steps (default: about one per film frame)")
    sub.add_argument("--data", metavar="FILE", help="write the rows to FILE.csv or FILE.npz instead of stdout")
    sub.add_argument("--force", action="store_true", help="replace an existing file")
    _json(sub)
    _machine(sub)

    sub = command("doctor", _doctor, "What this machine can do, and how to get what is missing.", "doctor --json")
    _json(sub)
    return parser


def _scene(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    nargs: dict[str, Any] = {"nargs": "?", "default": default} if default else {}
    parser.add_argument("scene", metavar="SCENE", help="a shipped name, or a path to a .yaml file", **nargs)
    _overrides(parser)


def _overrides(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help="change a key, dotted: system.heads=4"
    )
    parser.add_argument("--seed", type=int, help="another seed for every random number")
    parser.add_argument("--precision", choices=("f32", "f64"), help="precision of the system's arithmetic")


def _machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--arch", choices=("auto", "cpu", "cuda", "vulkan", "metal"), default="auto", help="Taichi's backend")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _output(parser: argparse.ArgumentParser, metavar: str, text: str) -> None:
    parser.add_argument("-o", "--output", metavar=metavar, help=text)
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def _size(text: str) -> tuple[int, int]:
    width, x, height = text.lower().partition("x")
    if not (x and width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not WIDTHxHEIGHT, for instance 1280x720")
    return int(width), int(height)


def _load(options: argparse.Namespace) -> "Scene":
    """The scene with every option of the command line in it, so that each is checked by the scene's own rules."""
    from scenes.load import load_scene

    overrides = list(options.overrides)
    if getattr(options, "size", None):
        overrides.append(f"film.size=[{options.size[0]}, {options.size[1]}]")
    for key in ("fps", "seconds"):
        if getattr(options, key, None) is not None:
            overrides.append(f"film.{key}={getattr(options, key)!r}")
    return load_scene(options.scene, overrides, seed=options.seed, precision=options.precision)


def _at_least_0(option: str, time: float) -> float:
    if not (math.isfinite(time) and time >= 0):
        raise UserError(f"{option} {time:g}: a time from 0 on is needed")
    return time


def _name(options: argparse.Namespace) -> str:
    return Path(options.scene).stem


def _start(options: argparse.Namespace, scene: "Scene") -> None:
    """Start Taichi. What does not start, or cannot do what the scene asks for, is the user's to put right."""
    from sim import runtime

    try:
        machine = runtime.start(options.arch)
    except runtime.BackendUnavailable as error:
        raise UserError(f"--arch {options.arch}: {error}") from None
    if scene.system.precision == "f64" and not machine.f64:
        raise UserError(f"precision f64: the {machine.arch} backend computes in f32 only; use --arch cpu or cuda")


def _list(options: argparse.Namespace) -> int:
    from scenes.load import shipped

    scenes = shipped()
    if options.json:
        print(json.dumps([scene._asdict() for scene in scenes], indent=2, ensure_ascii=False))
    else:
        width = max(len(scene.name) for scene in scenes)
        for scene in scenes:
            print(f"{scene.name:<{width}}  {scene.title}")
    return 0


def _check(options: argparse.Namespace) -> int:
    from scenes.load import load_scene

    failed, results = False, []
    for scene in options.scenes:
        try:
            load_scene(scene, options.overrides, seed=options.seed, precision=options.precision)
            problems = []
        except UserError as error:
            problems = str(error).splitlines()
            failed = True
        results.append({"scene": scene, "ok": not problems, "problems": problems})
        for line in problems:
            print(line, file=sys.stderr)
        if not problems and not options.json:
            print(f"{scene}: ok")
    if options.json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
    return USER_ERROR if failed else 0


def _schema(_options: argparse.Namespace) -> int:
    from scenes.load import schema

    print(json.dumps(schema(), indent=2))
    return 0


def _live(options: argparse.Namespace) -> int:
    scene = _load(options)
    _at_least_0("--at", options.at)
    _start(options, scene)
    from render.live import run_live
    from render.live_session import Catalogue
    from scenes.load import load_scene, shipped

    catalogue = Catalogue(names=[known.name for known in shipped()], load=load_scene, recordings=RECORDINGS)
    run_live(scene, name=_name(options), catalogue=catalogue, at=options.at, paused=options.paused)
    return 0


def _record(options: argparse.Namespace) -> int:
    scene = _load(options)
    from render.video import FILMS, check_output

    target = check_output(
        options.output or RECORDINGS / f"{_name(options)}.mp4", size=scene.film.size, force=options.force, kinds=FILMS
    )
    _start(options, scene)
    from render.player import Interrupted, Player, record
    from render.progress import progress
    from render.stage import Stage
    from render.video import Mp4Sink

    stage = Stage(scene)
    try:
        with progress("frames", options.quiet) as report:
            film = scene.film
            sink = Mp4Sink(target, film.size, film.fps, force=options.force, title=scene.title, comment=_comment(options))
            record(Player(stage, scene.film.fps, scene.film.seconds), sink, report)
        _notes(stage.notices())
    except Interrupted as stop:
        print(stop, file=sys.stderr)
        return stop.exit_code
    finally:
        stage.release()
    print(_shown(target))
    return 0


def _still(options: argparse.Namespace) -> int:
    scene = _load(options)
    _at_least_0("--at", options.at)
    from render.video import PICTURES, PngSink, check_output

    target = check_output(options.output or RECORDINGS / f"{_name(options)}.png", force=options.force, kinds=PICTURES)
    _start(options, scene)
    from render.stage import Stage

    stage = Stage(scene)
    try:
        sink = PngSink(target, force=options.force, text={"Title": scene.title, "Comment": _comment(options)})
        sink.write(stage.show(options.at))
        options.signals.check()
        sink.close()
        _notes(stage.notices())
    finally:
        stage.release()
    print(_shown(target))
    return 0


def _run(options: argparse.Namespace) -> int:
    scene = _load(options)
    from render.progress import progress
    from render.table import TABLES, watched, write_table
    from render.video import check_output

    end = scene.film.seconds * scene.film.speed if options.until is None else _at_least_0("--until", options.until)
    if options.json and options.data:
        raise UserError("--json prints to stdout, and --data writes a file in the format of its name: use one of them")
    if options.every is not None and options.every < 1:
        raise UserError(f"--every {options.every}: at least 1 step")
    target = check_output(options.data, force=options.force, kinds=TABLES) if options.data else None
    _start(options, scene)
    from render.player import run_table

    with progress("rows", options.quiet or target is None) as report:  # rows on a terminal show how far it is themselves
        rows = watched(run_table(scene, options.until, options.every, _notes), end, report, options.signals.check)
        write_table(rows, target, as_json=options.json, force=options.force)
    if target is not None:
        print(_shown(target))
    return 0


def _notes(lines: Sequence[str]) -> None:
    for line in lines:
        print(f"note: {line}", file=sys.stderr)


def _doctor(options: argparse.Namespace) -> int:
    from render.doctor import examine, report

    findings = examine()
    print(json.dumps(findings, indent=2, ensure_ascii=False) if options.json else report(findings))
    return 0


def _comment(options: argparse.Namespace) -> str:
    """What made the file: enough to make it again."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = f"version {version('phisphere')}"
    except PackageNotFoundError:  # run from a checkout that was never installed
        number = "not installed"
    words = ["phisphere", options.command, _name(options)]
    for key in ("size", "fps", "seconds", "at", "seed", "precision"):
        if (value := getattr(options, key, None)) is not None:
            words += [f"--{key}", "x".join(map(str, value)) if key == "size" else str(value)]
    for override in options.overrides:
        words += ["--set", override]
    return f"{shlex.join(words)} ({number})"


def _shown(target: Path) -> Path:
    """Relative to the current directory where the file lies below it."""
    here = Path.cwd()
    return target.relative_to(here) if target.is_relative_to(here) else target


if __name__ == "__main__":
    sys.exit(main())
