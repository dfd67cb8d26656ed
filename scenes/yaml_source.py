"""YAML into plain data, remembering the line of every key.

Scalars follow YAML 1.2 where PyYAML's 1.1 surprises: `1e-3` is a number, `yes` is text, `010` and `08` are refused rather
than read as octal or text; a key that stands twice is refused with both lines.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from scenes.errors import Problem, SceneError

Path_ = tuple[str | int, ...]
MAX_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_NODES = 100_000  # aliases may refer to aliases; what they expand to is bounded too


@dataclass
class Source:
    """The data of one scene file and where each key stands: path -> line, counted from 1."""

    name: str
    data: Any = None
    lines: dict[Path_, int] = field(default_factory=dict)
    overridden: dict[Path_, str] = field(default_factory=dict)  # path -> the `--set` that wrote it

    def line_of(self, path: Sequence[str | int]) -> int:
        """The line of `path`, or of the nearest mapping around it that has one."""
        here = tuple(path)
        while here and here not in self.lines:
            here = here[:-1]
        return self.lines.get(here, 1)

    def problem(self, path: Sequence[str | int], key: str, reason: str) -> Problem:
        """A problem at `path`: in the file, or in the `--set` that wrote there."""
        here = tuple(path)
        for written, where in self.overridden.items():
            if here[: len(written)] == written:
                return Problem(where, 0, key, reason)
        return Problem(self.name, self.line_of(path), key, reason)

    def fail(self, path: Sequence[str | int], key: str, reason: str) -> SceneError:
        """A SceneError with one problem at `path`."""
        return SceneError([self.problem(path, key, reason)])


@dataclass
class PaneSource:
    """The merged data of pane number `index`, whose problems are reported where the pane stands in `whole`."""

    whole: Source
    index: int
    data: Any

    def problem(self, path: Sequence[str | int], key: str, reason: str) -> Problem:
        """A problem at `path` of the merged data."""
        return self.whole.problem(("panes", self.index, *path), f"panes.{self.index}.{key}", reason)


class _Loader(yaml.SafeLoader):
    """SafeLoader's parser with the scalar rules above instead of YAML 1.1's."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


_DIGITS = "-+0123456789."
for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?[0-9]+$", _DIGITS),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", _DIGITS),
    ("float", r"^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$", _DIGITS),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def read(path: Path, name: str | None = None) -> Source:
    """Read one scene file. Raises SceneError for a file that cannot be read or is not one YAML mapping."""
    shown = name or str(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SceneError([Problem(shown, 0, "", error.strerror or str(error))]) from error
    if len(raw) > MAX_BYTES:
        raise SceneError([Problem(shown, 0, "", f"is {len(raw)} bytes long; a scene has at most {MAX_BYTES}")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise SceneError([Problem(shown, line, "", "is not UTF-8 text; save the file as UTF-8")]) from error
    source = parse(text, shown)
    if not isinstance(source.data, dict):
        raise SceneError([Problem(shown, 1, "", "a scene is a mapping of keys (title, system, view, ...)")])
    return source


def parse(text: str, name: str) -> Source:
    """One YAML document with its lines. Raises SceneError for syntax, duplicate keys, and numbers that could be misread."""
    source = Source(name)
    try:
        node = yaml.compose(text, Loader=_Loader)
        source.data = _Builder(source).build(node, (), 0) if node is not None else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "not readable"
        raise SceneError(
            [Problem(name, mark.line + 1 if mark else 1, "", f"not valid YAML: {' '.join(str(reason).split())}")]
        ) from error
    except RecursionError as error:
        raise SceneError([Problem(name, 1, "", f"nested deeper than {MAX_DEPTH} levels")]) from error
    return source


def scalar(text: str, name: str) -> Any:
    """The value of `--set key=value`, by the same rules as in a file: `[640, 360]` is a list, `1e-3` a number."""
    try:
        return parse(text, name).data
    except SceneError as error:  # there is only one line
        raise SceneError([Problem(name, 0, problem.key, problem.reason) for problem in error.problems]) from None


class _Builder:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.nodes = 0

    def build(self, node: yaml.Node, path: Path_, depth: int) -> Any:
        self.nodes += 1
        self.source.lines.setdefault(path, node.start_mark.line + 1)
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise self.source.fail(path, _dotted(path), f"nested deeper than {MAX_DEPTH} levels, or larger than a scene can be")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, i), depth + 1) for i, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path_, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else ""
            here = (*path, key)
            line = key_node.start_mark.line + 1
            if not key:
                raise SceneError([Problem(self.source.name, line, _dotted(path), "a key must be a word")])
            if key in out:
                first = self.source.lines[here]
                raise SceneError(
                    [Problem(self.source.name, line, _dotted(here), f"stands twice, first on line {first}; keep one")]
                )
            self.source.lines[here] = line
            out[key] = self.build(value_node, here, depth + 1)
        return out

    def _scalar(self, node: yaml.Node, path: Path_) -> Any:
        text, tag = str(node.value), node.tag.rsplit(":", 1)[-1]
        if tag == "int":
            if re.match(r"^[-+]?0[0-9]", text):
                raise self.source.fail(path, _dotted(path), f"`{text}` could be read as octal; write it without the leading zero")
            if len(text) > 40:
                raise self.source.fail(path, _dotted(path), f"a number of {len(text)} digits is too long")
            return int(text)
        if tag == "float":
            return float(re.sub(r"\.(?=[iInN])", "", text))
        if tag == "bool":
            return text.lower() == "true"
        if tag == "null":
            return None
        if tag != "str":
            raise self.source.fail(path, _dotted(path), f"the tag `{node.tag}` has no meaning in a scene")
        return text


def _dotted(path: Sequence[str | int]) -> str:
    return ".".join(str(part) for part in path)
