"""What goes wrong on the user's side: one line each, naming file, line, key, what is wrong and what would be right."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


class UserError(Exception):
    """Something the user can put right. The message is one line; the program exits with code 2 and no traceback."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a scene. `line` counts from 1; 0 where there is no line (a `--set`, a file that cannot be read)."""

    where: str  # the file, or "--set"
    line: int
    key: str
    reason: str

    def __str__(self) -> str:
        place = f"{self.where}:{self.line}" if self.line else self.where
        text = f"{place}: {self.key}: {self.reason}" if self.key else f"{place}: {self.reason}"
        return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)  # one line, whatever it quotes


class SceneError(UserError):
    """All the problems of one scene, a line each."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def nearest(name: str, choices: Iterable[str]) -> str:
    """ ", did you mean `x`?" for the closest of `choices`, or nothing."""
    close = difflib.get_close_matches(name, list(choices), n=1, cutoff=0.55)
    return f", did you mean `{close[0]}`?" if close else ""
