"""What each shipped scene promises in its `expect` is what comes out at the end of its film, smaller and without pictures.

Attention scenes run on at most 256 of their tokens, which the statements do not depend on (MATHS.md, section A); planes on a
coarser grid, where "no grid point is misclassified" is as sharp a statement as on a fine one.
"""

import math

import pytest

from render.experiment import Experiment
from scenes.attention import AttentionSystem
from scenes.load import load_scene, shipped
from scenes.spec import Scene

TOKENS = 256
GRID = (320, 180)
SCENES = [scene.name for scene in shipped()]


def smaller(name: str) -> Scene:
    """The scene as shipped, or with fewer tokens."""
    scene = load_scene(name)
    if isinstance(scene.system, AttentionSystem) and scene.system.tokens.count > TOKENS:
        return load_scene(name, [f"system.tokens.count={TOKENS}"])
    return scene


@pytest.mark.parametrize("name", SCENES)
def test_a_shipped_scene_does_what_it_says(name):
    scene = smaller(name)
    assert scene.expect, "a shipped scene says what must come out"
    assert scene.title and scene.caption and scene.source, "a shipped scene says what it shows and where that is from"
    experiment = Experiment(scene, fps=scene.film.fps, size=GRID, balance=True)
    try:
        experiment.seek(scene.film.seconds)
        row = experiment.system.diagnostics()
        if "radius_error" in scene.expect:
            row["radius_error"] = experiment.system.radius_error()
    finally:
        experiment.release()
    assert all(value is None or math.isfinite(value) for value in row.values()), row
    for column, (low, high) in scene.expect.items():
        assert row[column] is not None and low <= row[column] <= high, (column, row[column])
