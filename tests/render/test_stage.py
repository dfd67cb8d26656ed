"""Whole pictures: a frame is a function of scene, film time and what is held, to the byte; panes share one clock."""

import numpy as np
import pytest
from PIL import Image

from render.player import Player, record
from render.stage import Stage, cells
from render.video import Mp4Sink, PngSink, samples
from scenes.spec import Scene
from tests.render.test_video import decoded

SIZE = (192, 128)


def globe(**changes):
    system = {"kind": "attention", "tokens": {"count": 40}, "heads": 2, "weights": {"kind": "rotating", "omega": 1.5}}
    parts = {
        "title": "Turning",
        "caption": "A cloud",
        "seed": 2,
        "system": {**system, **changes.pop("system", {})},
        "view": {"kind": "globe", "color": "speed"},
        "film": {"size": list(SIZE), "fps": 10, "seconds": 1, "speed": 1.0},
        **changes,
    }
    return Scene.model_validate(parts)


def plane(**changes):
    parts = {
        "title": "Basins",
        "system": {"kind": "two_factor_plane", "mu": 0.5, "iterations": 60},
        "view": {"kind": "plane", "supersample": 1},
        "film": {"size": list(SIZE), "fps": 10, "seconds": 1, "speed": 1.0},
        "timeline": [{"at": 0.2, "caption": "later"}, {"at": 1.0, "mu": 1.5}],
        **changes,
    }
    return Scene.model_validate(parts)


KINDS = {"globe": globe, "plane": plane}


@pytest.fixture
def stage_of():
    """Builds stages and frees them afterwards."""
    made = []

    def build(scene, *size, **options):
        made.append(Stage(scene, *size, **options))
        return made[-1]

    yield build
    for stage in made:
        stage.release()


def shown(stage, time):
    return stage.show(time).pixels.copy()


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_depends_on_its_time_alone(stage_of, kind):
    scene = KINDS[kind]()
    stage, other = stage_of(scene), stage_of(scene)
    at_half = shown(stage, 0.5)
    assert not np.array_equal(shown(stage, 0.9), at_half)
    assert np.array_equal(shown(stage, 0.5), at_half)  # after going back
    assert np.array_equal(shown(other, 0.5), at_half)  # straight there
    stage.reset()
    assert np.array_equal(shown(stage, 0.5), at_half)
    assert (at_half >> 24 == 255).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_film_ends_with_the_still_of_its_last_frame(stage_of, tmp_path, kind):
    """Up to what 4:2:0 and the codec take away: in brightness a few levels, and closer to it than to its neighbours in time."""
    stage = stage_of(KINDS[kind]())
    assert record(Player(stage, 10, 0.6), Mp4Sink(tmp_path / "a.mp4", SIZE, 10)) == samples(tmp_path / "a.mp4") == 6
    sink = PngSink(tmp_path / "a.png")
    sink.write(stage.show(0.5))
    sink.close()
    with Image.open(tmp_path / "a.png") as picture:
        still = np.asarray(picture).astype(float)
    grey = np.array([0.2126, 0.7152, 0.0722])  # 4:2:0 keeps brightness at full resolution
    errors = [np.abs(frame @ grey - still @ grey).mean() for frame in decoded(tmp_path / "a.mp4")]
    assert errors[-1] < 2.5 and np.argmin(errors) == 5, errors


def test_size_and_rate_may_be_other_than_the_scenes(stage_of):
    stage = stage_of(globe(), (160, 96), fps=20)
    assert stage.show(0.0).size == (160, 96) and stage.fps == 20
    assert stage_of(globe()).show(0.0).size == SIZE


def test_panes_share_the_clock_and_the_camera(stage_of):
    panes = [{"label": "one", "system": {"heads": 1}}, {"label": "five", "system": {"heads": 5}}]
    stage = stage_of(globe(panes=panes))
    picture = shown(stage, 0.35)
    assert [pane.label for pane in stage.panes] == ["one", "five"]
    assert [system.heads for system in stage.systems] == [1, 5]
    assert stage.systems[0].time == stage.systems[1].time > 0
    assert np.array_equal(stage.systems[0].start, stage.systems[1].start)
    left, right = picture[:, : SIZE[0] // 2], picture[:, SIZE[0] // 2 :]
    assert not np.array_equal(left, right)
    stage.set_parameters({"view.camera.azimuth": 100.0})
    turned = stage.draw().pixels
    assert all(not np.array_equal(turned[:, half], picture[:, half]) for half in (slice(0, 96), slice(96, 192)))
    assert stage.panes[0].view.camera.azimuth == stage.panes[1].view.camera.azimuth == 100.0


def test_a_label_is_written_on_its_pane(stage_of):
    panes = [{"label": label, "system": {"heads": 1}} for label in ("", "H = 1")]
    picture = shown(stage_of(globe(title="", caption="", panes=panes)), 0.0)
    plain = shown(stage_of(globe(title="", caption="", panes=[{"label": ""}, {"label": ""}], system={"heads": 1})), 0.0)
    differs = (picture != plain).any(axis=0)
    assert differs[SIZE[0] // 2 :].any() and not differs[: SIZE[0] // 2].any()


def test_held_parameters_stand_above_the_timeline_until_let_go(stage_of):
    stage = stage_of(plane())
    free = shown(stage, 0.5)
    stage.set_parameters({"mu": 1.9})
    assert stage.held == {"mu": 1.9} and stage.value_of("mu") == 1.9
    assert not np.array_equal(shown(stage, 0.5), free)
    stage.reset()
    assert stage.value_of("mu") == 1.9
    stage.let_go()
    assert stage.value_of("mu") == 0.5 and stage.held == {}
    assert np.array_equal(shown(stage, 0.5), free)


def test_a_held_camera_goes_back_to_the_scenes(stage_of):
    stage = stage_of(globe())
    free = shown(stage, 0.2)
    stage.set_parameters({"view.camera.elevation": -40.0})
    assert stage.value_of("view.camera.elevation") == -40.0
    assert not np.array_equal(shown(stage, 0.2), free)
    stage.let_go("view.camera.elevation")
    assert np.array_equal(shown(stage, 0.2), free)


def test_a_parameter_that_no_system_has_is_refused(stage_of):
    with pytest.raises(KeyError, match="kappa"):
        stage_of(globe()).set_parameters({"weights.kappa": 1.0})


def test_the_overlay_may_be_left_away(stage_of):
    stage = stage_of(globe())
    written = shown(stage, 0.2)
    stage.overlaid = False
    assert not np.array_equal(stage.draw().pixels, written)


def test_panels_are_drawn_and_change_with_time(stage_of):
    scene = globe(panels=["slope2", "balance"])
    plain, with_panels = stage_of(globe()), stage_of(scene)
    assert not np.array_equal(shown(plain, 0.5), shown(with_panels, 0.5))
    assert np.array_equal(shown(with_panels, 0.5), shown(stage_of(scene), 0.5))
    assert with_panels.panes[0].experiment.history.newest["edi_residual"] is not None


@pytest.mark.parametrize(
    ("count", "size", "columns"),
    [(1, (1280, 720), 1), (2, (1280, 720), 2), (2, (600, 900), 1), (4, (1280, 720), 2), (9, (900, 900), 3)],
)
def test_panes_fill_the_picture_without_overlap(count, size, columns):
    places = cells(count, (7, 5, *size))
    assert len(places) == count and len({x for (x, _), _ in places}) == columns
    cover = np.zeros((size[1] + 5, size[0] + 7), int)
    for (x, y), (w, h) in places:
        cover[y : y + h, x : x + w] += 1
    assert cover.max() == 1 and cover[5:, 7:].mean() > 0.99 and cover.sum() == cover[5:, 7:].sum()


def test_nine_panes_of_an_odd_picture_stay_inside():
    for count in range(1, 10):
        for (x, y), (w, h) in cells(count, (0, 0, 641, 359)):
            assert x >= 0 and x + w <= 641 and y >= 0 and y + h <= 359 and min(w, h) > 0
