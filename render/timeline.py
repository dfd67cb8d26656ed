"""Keyframes and captions of a scene as functions of film time. Plain Python: no kernel, no state."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scenes.spec import Scene, resolve_target


class Moment(NamedTuple):
    """What the timeline says at one film time: live parameters by dotted path, and the caption to show."""

    system: dict[str, float]  # paths within the scene's `system`: "weights.beta", "mu"
    view: dict[str, float]  # paths within the scene's `view`: "camera.azimuth"
    caption: str


@dataclass(frozen=True)
class Track:
    """One parameter's keyframes in ascending time; `eases[i]` says how the value moves on its way to `values[i]`.

    The first entry is the scene's own value at film time 0, so a parameter without a keyframe at 0 starts from there.
    """

    times: tuple[float, ...]
    values: tuple[float, ...]
    eases: tuple[str, ...]

    def at(self, time: float) -> float:
        """Value at film time `time` (seconds, clamped to 0 from below); exactly `values[i]` at `times[i]`."""
        upcoming = bisect_right(self.times, max(time, 0.0))  # of several keyframes at one time the last one holds from then on
        last = upcoming - 1
        if upcoming == len(self.times):
            return self.values[last]
        span = self.times[upcoming] - self.times[last]
        u = _eased((max(time, 0.0) - self.times[last]) / span, self.eases[upcoming])
        return (1 - u) * self.values[last] + u * self.values[upcoming]


class Timeline:
    """The keyframes of one scene (of one pane: of the pane's own scene, whose values the ramps start from).

    Raises ValueError for a keyframe that names no live parameter, as scenes.spec.resolve_target does.
    """

    def __init__(self, scene: Scene) -> None:
        points: dict[tuple[str, str], list[tuple[float, float, str]]] = {}
        captions = [(0.0, scene.caption)]
        for frame in sorted(scene.timeline, key=lambda keyframe: keyframe.at):  # stable: equal times keep the file's order
            if frame.caption is not None:
                captions.append((frame.at, frame.caption))
            for name, value in frame.targets.items():
                points.setdefault(resolve_target(scene, name), []).append((frame.at, float(value), frame.ease))
        self._captions = captions
        self._caption_times = [at for at, _ in captions]
        self.tracks = {
            (part, path): _track(own_value(getattr(scene, part), path), keyframes) for (part, path), keyframes in points.items()
        }

    def values_at(self, film_time: float) -> Moment:
        """Every keyframed parameter and the caption at `film_time`, seconds of film."""
        return Moment(self._part("system", film_time), self._part("view", film_time), self.caption_at(film_time))

    def caption_at(self, film_time: float) -> str:
        """The caption that stands at `film_time`: the newest keyframe's, before the first the scene's own."""
        return self._captions[max(bisect_right(self._caption_times, film_time), 1) - 1][1]

    def _part(self, wanted: str, film_time: float) -> dict[str, float]:
        return {path: track.at(film_time) for (part, path), track in self.tracks.items() if part == wanted}


def own_value(spec: Any, path: str) -> float:
    """The number at a dotted path of a scene model: what the parameter is before anything moves it."""
    for name in path.split("."):
        spec = getattr(spec, name)
    return float(spec)


def _track(start: float, keyframes: Sequence[tuple[float, float, str]]) -> Track:
    times, values, eases = zip((0.0, start, "hold"), *keyframes, strict=True)
    return Track(times, values, eases)


def _eased(u: float, ease: str) -> float:
    """The share of the way covered at the share u of the time, u in [0, 1)."""
    if ease == "hold":
        return 0.0
    return u * u * (3 - 2 * u) if ease == "smooth" else u
