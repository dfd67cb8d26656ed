"""The state of a window as a scene: everything that was moved by hand, written where the scene says it."""

from typing import Any

from render.stage import VIEW, Stage
from scenes.spec import Scene, resolve_target


def snapshot(stage: Stage) -> Scene:
    """The stage's scene with held parameters and the plane's window as they are now. Keyframes of held parameters are dropped:
    they no longer say what is seen. The film starts at 0; the state of the tokens is not part of a scene.
    """
    scene = stage.scene
    data = scene.model_dump(mode="json")
    for path, value in stage.held.items():
        part, inner = ("view", path.removeprefix(VIEW)) if path.startswith(VIEW) else ("system", path)
        _put(data[part], inner, value)
        for pane in data["panes"]:
            if _has(pane.get(part, {}), inner):
                _put(pane[part], inner, value)
    if scene.system.kind == "two_factor_plane":
        system = stage.panes[0].system
        data["system"]["window"] = {"center": [float(c) for c in system.center], "width": float(system.width)}
    data["timeline"] = [kept for keyframe in data["timeline"] if (kept := _without_held(keyframe, stage))]
    return Scene.model_validate(data)


def _without_held(keyframe: dict[str, Any], stage: Stage) -> dict[str, Any]:
    """The keyframe without its held targets; empty when nothing is left that it does."""
    kept = {}
    for name, value in keyframe.items():
        if name not in ("at", "ease", "caption"):
            part, path = resolve_target(stage.scene, name)
            if (VIEW + path if part == "view" else path) in stage.held:
                continue
        if value is not None:
            kept[name] = value
    return kept if set(kept) - {"at", "ease"} else {}


def _put(data: dict[str, Any], path: str, value: float) -> None:
    *outer, last = path.split(".")
    for name in outer:
        data = data[name]
    data[last] = value


def _has(data: Any, path: str) -> bool:
    for name in path.split("."):
        if not isinstance(data, dict) or name not in data:
            return False
        data = data[name]
    return True
