"""Trails: along the way that a token came, fading, the same bytes for every order of threads and every way to the frame."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from render.frame import Frame
from render.stage import Stage
from sim.attention.wake import Wake
from tests.render.clouds import StillCloud, uniform, view
from tests.render.test_stage import globe

SIZE, RADIUS = (320, 180), 0.43 * 180
UNSEEN = {"token_radius": 1e-6, "graticule": False}


class Turning(StillCloud):
    """Tokens that turn about the z axis by one radian a unit of time, with their wake; they themselves are not drawn."""

    def __init__(self, x, time: float, duration: float, dt: float = 0.05) -> None:
        super().__init__(self.at(x, time))
        self.start = np.asarray(x)
        self.wake = Wake(len(x), dt, duration, "f32")
        for k in range(math.ceil(time / dt - 1e-9) + 1):
            (self.wake.restart if k == 0 else self.wake.record)(k, StillCloud(self.at(x, k * dt)).shown(0))
        self.time = time

    @staticmethod
    def at(x, time):
        c, s = math.cos(time), math.sin(time)
        return np.asarray(x) @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])


def picture(system, trails=1.0, **keys) -> np.ndarray:
    made, frame = view(SIZE, trails=trails, **{**UNSEEN, **keys}), Frame(*SIZE)
    made.draw(frame, system, system.time)
    made.release()
    return frame.rgb().astype(int)


def light(system, **keys) -> np.ndarray:
    """What the trails add, summed over the colours."""
    nothing = Turning([[0, 0, 1.0]] * system.count, 0.0, 1.0)
    return (picture(system, **keys) - picture(nothing, **keys)).sum(-1)


def test_a_trail_lies_where_the_token_was_and_fades():
    """From longitude -0.9 to 0.3 in 1.2; of that the last unit of time is lit. Pixel column 160 + R sin(longitude)."""
    added = light(Turning([[math.cos(0.9), -math.sin(0.9), 0]], 1.2, 1.0))
    rows, columns = np.nonzero(added > 15)
    assert abs(rows + 0.5 - 90).max() <= 1.6
    longitude = np.arcsin((columns + 0.5 - 160) / RADIUS)
    assert longitude.max() == pytest.approx(0.3, abs=0.03) and -0.7 <= longitude.min() < -0.3
    along = added[88:92].sum(0)
    at = [along[int(160 + RADIUS * math.sin(a)) - 2 :][:5].mean() for a in (0.25, 0.0, -0.3)]
    assert at[0] > 1.3 * at[1] > 1.3 * at[2] > 0


def test_trails_of_the_back_are_dimmer_and_behind_a_painted_field_unseen():
    x = np.array([[math.cos(0.9), -math.sin(0.9), 0]])
    front, back = light(Turning(x, 1.2, 1.0)), light(Turning(-x, 1.2, 1.0))
    assert 0.15 * front.sum() < back.sum() < 0.7 * front.sum()


def test_tokens_at_rest_leave_none():
    assert np.abs(light(Turning([[0, 0, 1.0]] * 2, 1.0, 1.0))).max() <= 3


def test_light_adds_up_and_stays_below_white():
    one = light(Turning([[1.0, 0, 0]], 0.6, 1.0))
    many = light(Turning([[1.0, 0, 0]] * 1000, 0.6, 1.0))
    assert many.max() > 1.3 * one.max() and picture(Turning([[1.0, 0, 0]] * 1000, 0.6, 1.0)).min(-1).max() < 250


@pytest.mark.parametrize("color", ["start", "speed"])
def test_a_frame_with_trails_depends_on_its_time_alone(color):
    scene = globe(view={"kind": "globe", "color": color, "trails": 0.4})
    stage, other = Stage(scene), Stage(scene)
    at_half = stage.show(0.5).pixels.copy()
    plain = Stage(globe(view={"kind": "globe", "color": color}))
    assert not np.array_equal(plain.show(0.5).pixels, at_half)
    stage.show(0.9)
    assert np.array_equal(stage.show(0.5).pixels, at_half)  # after going back
    assert np.array_equal(other.show(0.5).pixels, at_half)  # straight there
    assert np.array_equal(other.draw().pixels, at_half)  # again
    for made in (stage, other, plain):
        made.release()


def digest() -> str:
    """Of a crowd whose trails cross, where many threads meet at the same pixels."""
    import hashlib

    return hashlib.sha256(picture(Turning(uniform(3000), 1.0, 1.0)).tobytes()).hexdigest()


def test_one_thread_and_all_give_the_same_bytes():
    root = Path(__file__).parents[2]
    code = (
        "from sim import runtime; runtime.start('cpu', threads=1); from tests.render.test_trails import digest; print(digest())"
    )
    child = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert child.stdout.strip() == digest()
