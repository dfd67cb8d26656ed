"""Pydantic's errors in the user's words: one line a problem, at the line of the file, with the nearest right name."""

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from scenes.errors import Problem, nearest
from scenes.fields import Misfit
from scenes.spec import Scene
from scenes.yaml_source import PaneSource, Source

Location = tuple[str | int, ...]


def explain(error: ValidationError, source: Source | PaneSource) -> list[Problem]:
    """All problems of one validation, in the order of the file."""
    problems: dict[Location, Problem] = {}
    for detail in error.errors(include_url=False):
        path = _path(detail, source.data)
        if path in problems:
            continue  # a union complains once per member: the first says enough, with the choices listed
        key = ".".join(str(part) for part in path)
        problems[path] = source.problem(path, key, _reason(detail, path, source.data))
    return sorted(problems.values(), key=lambda problem: problem.line)


def model_at(path: Sequence[str | int], data: Any) -> type[BaseModel] | None:
    """The model that a mapping at `path` must fit; `data` is that mapping, whose `kind` picks a union's member."""
    kinds = data.get("kind") if isinstance(data, Mapping) else None
    candidates: list[type[BaseModel]] = [Scene]
    for part in path:
        inner: list[type[BaseModel]] = []
        for model in candidates:
            if isinstance(part, int) or (isinstance(part, str) and part.isdigit()):
                inner.append(model)  # an index: the list's members were already found
            elif part in model.model_fields:
                inner += _models(model.model_fields[part].annotation)
        candidates = inner
    fitting = [model for model in candidates if kinds is None or _kind(model) in (None, kinds)]
    return fitting[0] if fitting else None


def _models(annotation: Any) -> list[type[BaseModel]]:
    """Every model named in a type annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    origin = get_origin(annotation)
    if origin is Annotated or origin in (Union, UnionType, list, tuple):
        return [model for part in get_args(annotation) for model in _models(part)]
    return []


def _kind(model: type[BaseModel]) -> str | None:
    info = model.model_fields.get("kind")
    return get_args(info.annotation)[0] if info is not None and get_origin(info.annotation) is Literal else None


def _path(detail: ErrorDetails, data: Any) -> Location:
    """Pydantic's location without the union members that it names on the way: only keys and indices of the file."""
    location = detail["loc"]
    path: list[str | int] = []
    here = data
    for i, part in enumerate(location):
        named_missing = detail["type"] == "missing" and i == len(location) - 1
        if isinstance(here, Mapping) and (part in here or named_missing):
            path.append(part)
            here = here.get(part)
        elif isinstance(here, list) and isinstance(part, int):
            path.append(part)
            here = here[part] if part < len(here) else None
    if detail["type"].startswith("union_tag"):
        path.append("kind")
    cause = detail.get("ctx", {}).get("error")
    return (*path, *cause.path) if isinstance(cause, Misfit) else tuple(path)


def _at(data: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _reason(detail: ErrorDetails, path: Location, data: Any) -> str:
    kind, context, given = detail["type"], detail.get("ctx", {}), detail.get("input")
    if kind == "extra_forbidden":
        return _unknown(path, data)
    if kind == "missing":
        return f"is missing{_hint(path)}"
    if kind == "literal_error":
        return _choice(f"`{given}`", str(given), str(context["expected"]))
    if kind == "union_tag_invalid":
        return _choice(f"kind `{context['tag']}`", str(context["tag"]), str(context["expected_tags"]))
    said = {"value_error": str(context.get("error", detail["msg"])), "union_tag_not_found": "needs a `kind`"}
    return said[kind] if kind in said else _shape(detail, given)


def _choice(shown: str, given: str, expected: str) -> str:
    """One of a closed set was wanted. `expected` is pydantic's list: `'a', 'b' or 'c'`."""
    choices = [part.strip(" '") for part in expected.replace(" or ", ", ").split(",") if part.strip(" '")]
    return f"{shown} is not one of {', '.join(choices)}{nearest(given, choices)}"


def _shape(detail: ErrorDetails, given: Any) -> str:
    shown = f"`{given}`" if not isinstance(given, dict | list) or len(str(given)) < 60 else "this"
    simple = {
        "float_type": "is not a number",
        "int_type": "is not a whole number",
        "int_from_float": "is not a whole number",
        "string_type": "is not text",
        "bool_type": "is not true or false",
        "finite_number": "is not a finite number",
        "model_type": "should be a mapping of keys",
        "model_attributes_type": "should be a mapping of keys",
        "dict_type": "should be a mapping of keys",
        "list_type": "should be a list",
        "tuple_type": "should be a list",
    }
    if detail["type"] in simple:
        return f"{shown} {simple[detail['type']]}"
    message = detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return f"{shown} is out of range: it should be {message}" if detail["msg"].startswith("Input should be ") else message


def _unknown(path: Location, data: Any) -> str:
    parent, key = path[:-1], str(path[-1])
    model = model_at(parent, _at(data, parent))
    here = list(model.model_fields) if model is not None else []
    close = nearest(key, here)
    if not close:
        homes = [home for home, names in _homes(data) if key in names]
        if homes:
            return (
                f"is not known here; that key belongs under `{homes[0]}`"
                if homes[0]
                else "is not known here; that key belongs at the top"
            )
    where = f"`{'.'.join(str(part) for part in parent)}`" if parent else "a scene"
    listed = f"; its keys are {', '.join(here)}" if here else ""
    return f"is not a key of {where}{close or listed}"


def _homes(data: Any) -> list[tuple[str, list[str]]]:
    """(dotted path, keys) of every mapping that this scene can have, with the kinds it names."""
    homes: list[tuple[str, list[str]]] = []
    for path in (
        (),
        ("film",),
        ("system",),
        ("system", "tokens"),
        ("system", "weights"),
        ("system", "weights", "noise"),
        ("system", "window"),
        ("view",),
        ("view", "camera"),
    ):
        model = model_at(path, _at(data, path))
        if model is not None:
            homes.append((".".join(path), list(model.model_fields)))
    return homes


def _hint(path: Location) -> str:
    model = model_at(path[:-1], None)
    info = model.model_fields.get(str(path[-1])) if model is not None else None
    return f": {info.description.splitlines()[0]}" if info is not None and info.description else ""
