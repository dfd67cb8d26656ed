"""From a name or a path to a checked Scene, and back to YAML.

    load_scene("never_settles", overrides=["system.heads=4"])      a shipped scene with one key changed
    load_scene("my/scene.yaml")                                    a file; relative data files count from it

Every problem is reported at once, as `file:line: key: what is wrong`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError

from scenes.errors import Problem, SceneError, UserError, nearest
from scenes.explain import explain, model_at
from scenes.spec import Scene
from scenes.yaml_source import PaneSource, Source, read, scalar

__all__ = ["SceneError", "Shipped", "UserError", "dump_scene", "load_scene", "resolve_panes", "schema", "shipped"]

FOLDER = Path(__file__).parent
DATA_FILES = ("tokens", "weights")  # the parts of a system that may read one, under the key `file`


class Shipped(NamedTuple):
    """One scene that ships: its name, its title and its source."""

    name: str
    title: str
    source: str


def shipped() -> list[Shipped]:
    """The shipped scenes in alphabetical order."""
    scenes = []
    for path in sorted(FOLDER.glob("*.yaml")):
        data = read(path).data
        scenes.append(Shipped(path.stem, str(data.get("title", "")), str(data.get("source", ""))))
    return scenes


def load_scene(
    scene: str | Path, overrides: Sequence[str] = (), *, seed: int | None = None, precision: str | None = None
) -> Scene:
    """Read and check a scene: a shipped name (`never_settles`) or a path.

    overrides: `key=value` as for `--set`, dotted to any depth, applied in order before anything is checked. A new `kind`
    for a part drops the keys of that part that the new kind does not have. Raises SceneError with every problem found.
    """
    path = _find(scene)
    source = read(path)
    for override in overrides:
        _apply(source, override)
    if seed is not None:
        source.data["seed"] = seed
    if precision is not None and isinstance(source.data.get("system"), dict):
        source.data["system"]["precision"] = precision
    _place_files(source, path)
    checked = _validate(source)
    _panes(checked, source)
    return checked


def resolve_panes(scene: Scene) -> list[tuple[str, Scene]]:
    """(label, scene) of every pane: the scene with that pane's overrides; one unlabelled pane where it lists none.

    Raises SceneError for an override that gives no valid scene.
    """
    if not scene.panes:
        return [("", scene)]
    return _panes(scene, Source("scene"))


def dump_scene(scene: Scene) -> str:
    """The scene as YAML: what differs from the defaults, in the order of the models. Loading it gives an equal Scene."""
    data = scene.model_dump(mode="python", exclude_defaults=True)
    for part in ("system", "view"):
        data[part] = {"kind": getattr(scene, part).kind, **data.get(part, {})}
    if "weights" in data["system"]:
        data["system"]["weights"] = {"kind": scene.system.weights.kind, **data["system"]["weights"]}  # type: ignore[union-attr]
    ordered = {name: data[name] for name in type(scene).model_fields if name in data}
    return yaml.dump(_listed(ordered), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of scene files, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Scene.model_json_schema()}


class _Dumper(yaml.SafeDumper):
    """Short lists on one line; floats so that they read back as floats to the last bit."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _sequence(dumper: _Dumper, data: list[Any]) -> yaml.Node:
    flat = all(not isinstance(item, dict) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=flat)


def _float(dumper: _Dumper, data: float) -> yaml.Node:
    text = repr(data)
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return dumper.represent_scalar("tag:yaml.org,2002:float", text)


_Dumper.add_representer(list, _sequence)
_Dumper.add_representer(float, _float)


def _find(scene: str | Path) -> Path:
    name = str(scene)
    looks_like_path = isinstance(scene, Path) or name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name
    if looks_like_path:
        return Path(scene)
    path = FOLDER / f"{name}.yaml"
    if path.is_file():
        return path
    if Path(name).is_file():
        return Path(name)
    names = [known.stem for known in sorted(FOLDER.glob("*.yaml"))]
    raise UserError(f"{name}: no shipped scene of that name and no such file{nearest(name, names)}; `phisphere list` shows them")


def _apply(source: Source, override: str) -> None:
    """Write one `key=value` into the raw data, so that it is checked like everything else."""
    key, equals, text = override.partition("=")
    where = f"--set {override}"
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise SceneError([Problem(where, 0, "", "write it as key=value, for instance system.heads=4")])
    value = scalar(text, where)
    here: Any = source.data
    for depth, part in enumerate(parts[:-1]):
        step = _step(here, part, where, ".".join(parts[: depth + 1]))
        here = here.setdefault(step, {}) if isinstance(here, dict) else here[step]
    last = _step(here, parts[-1], where, key)
    if last == "kind" and isinstance(here, dict) and here.get("kind") != value:
        _keep_what_fits(here, parts[:-1], str(value))
    here[last] = value
    source.overridden[tuple(_number(part) for part in parts)] = where


def _keep_what_fits(part: dict[str, Any], path: list[str], kind: str) -> None:
    """A new kind: keys that the new kind's model lacks are dropped, the others stay."""
    model = model_at([*path], {"kind": kind})
    if model is not None:
        for key in [key for key in part if key not in model.model_fields]:
            del part[key]


def _step(here: Any, part: str, where: str, key: str) -> str | int:
    if isinstance(here, dict):
        return part
    if isinstance(here, list) and part.lstrip("-").isdigit() and -len(here) <= int(part) < len(here):
        return int(part)
    if isinstance(here, list):
        raise SceneError([Problem(where, 0, key, f"this list has {len(here)} entries, numbered from 0")])
    raise SceneError([Problem(where, 0, key, "there is nothing below this key")])


def _number(part: str) -> str | int:
    return int(part) if part.isdigit() else part


def _place_files(source: Source, path: Path) -> None:
    """A relative data file, of the scene or of a pane, counts from the scene file; it must exist."""
    panes = source.data.get("panes")
    systems: list[tuple[tuple[str | int, ...], Any]] = [(("system",), source.data.get("system"))]
    for i, pane in enumerate(panes if isinstance(panes, list) else []):
        systems.append((("panes", i, "system"), pane.get("system") if isinstance(pane, dict) else None))
    for place, system in systems:
        for part in DATA_FILES:
            held = system.get(part) if isinstance(system, dict) else None
            if isinstance(held, dict) and isinstance(held.get("file"), str):
                where = (*place, part, "file")
                file = Path(held["file"])
                placed = file if file.is_absolute() else path.parent / file
                if not placed.is_file():
                    raise source.fail(where, ".".join(map(str, where)), f"there is no file {placed}")
                held["file"] = str(placed)


def _panes(scene: Scene, source: Source) -> list[tuple[str, Scene]]:
    """Every pane's own scene. Raises SceneError, at the pane's line of `source`, for one that is not valid."""
    plain = scene.model_dump(mode="python", exclude={"panes"}, exclude_unset=True)
    parts = []
    for i, pane in enumerate(scene.panes):
        data = {**plain, "system": _merged(plain["system"], pane.system), "view": _merged(plain["view"], pane.view)}
        parts.append((pane.label, _validate(PaneSource(source, i, _listed(data)))))
    return parts


def _validate(source: Source | PaneSource) -> Scene:
    try:
        return Scene.model_validate(source.data)
    except ValidationError as error:
        raise SceneError(explain(error, source)) from None


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes` written over it, mapping by mapping; a new `kind` starts that mapping afresh."""
    if "kind" in changes and changes["kind"] != base.get("kind"):
        return dict(changes)
    out = dict(base)
    for key, value in changes.items():
        inner = out.get(key)
        out[key] = _merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return out


def _listed(data: Any) -> Any:
    """Tuples as lists, all the way down: what YAML would have given."""
    if isinstance(data, Mapping):
        return {key: _listed(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_listed(value) for value in data]
    return data
