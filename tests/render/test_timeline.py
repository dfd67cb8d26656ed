"""Values of the timeline against hand-computed ones: they are simple fractions, so equality is exact unless said otherwise."""

import pytest

from render.timeline import Timeline
from scenes.spec import Scene


def scene(*keyframes, mu=0.5, caption="", system=None):
    plane = {"kind": "two_factor_plane", "mu": mu}
    view = {"kind": "plane"} if system is None else {"kind": "globe", "camera": {"azimuth": 10.0}}
    return Scene.model_validate(
        {"title": "t", "caption": caption, "system": system or plane, "view": view, "timeline": list(keyframes)}
    )


def mu_at(timeline, time):
    return timeline.values_at(time).system["mu"]


def test_nothing_keyframed_moves_nothing():
    moment = Timeline(scene(caption="still")).values_at(3.0)
    assert moment.system == {} and moment.view == {} and moment.caption == "still"


def test_linear_between_keyframes_and_held_outside():
    timeline = Timeline(scene({"at": 1, "mu": 1.0}, {"at": 3, "mu": 2.0}))
    assert mu_at(timeline, 1.0) == 1.0
    assert mu_at(timeline, 1.5) == 1.25
    assert mu_at(timeline, 3.0) == 2.0
    assert mu_at(timeline, 1e6) == 2.0


def test_a_ramp_starts_from_the_scenes_own_value_at_zero():
    timeline = Timeline(scene({"at": 4, "mu": 1.5}, mu=0.5))
    assert [mu_at(timeline, t) for t in (-1.0, 0.0, 2.0, 4.0)] == [0.5, 0.5, 1.0, 1.5]


def test_a_keyframe_at_zero_stands_above_the_scenes_own_value():
    timeline = Timeline(scene({"at": 0, "mu": 1.0}, {"at": 2, "mu": 2.0}, mu=0.25))
    assert mu_at(timeline, 0.0) == 1.0 and mu_at(timeline, 1.0) == 1.5


def test_smooth_is_the_cubic_with_level_ends():
    """u^2 (3 - 2u): 5/32 at a quarter, 1/2 at half, 27/32 at three quarters."""
    timeline = Timeline(scene({"at": 0, "mu": 0.0}, {"at": 4, "mu": 1.0, "ease": "smooth"}))
    assert [mu_at(timeline, t) for t in (1.0, 2.0, 3.0)] == [5 / 32, 1 / 2, 27 / 32]
    assert mu_at(timeline, 1e-4) / 1e-4 < 1e-3 and (1 - mu_at(timeline, 4 - 1e-4)) / 1e-4 < 1e-3


def test_hold_jumps_at_its_keyframe():
    timeline = Timeline(scene({"at": 0, "mu": 0.5}, {"at": 2, "mu": 1.0, "ease": "hold"}))
    assert mu_at(timeline, 1.9999) == 0.5 and mu_at(timeline, 2.0) == 1.0


def test_two_keyframes_at_one_time_are_a_jump():
    timeline = Timeline(scene({"at": 0, "mu": 0.0}, {"at": 2, "mu": 1.0}, {"at": 2, "mu": 0.25}, {"at": 4, "mu": 0.75}))
    assert mu_at(timeline, 1.0) == 0.5 and mu_at(timeline, 2.0) == 0.25 and mu_at(timeline, 3.0) == 0.5


@pytest.mark.parametrize("ease", ["linear", "smooth"])
def test_a_value_between_two_equal_keyframes_does_not_move(ease):
    timeline = Timeline(scene({"at": 0, "mu": 0.1}, {"at": 7, "mu": 0.1, "ease": ease}))
    assert all(mu_at(timeline, k / 30) == pytest.approx(0.1, abs=1e-16) for k in range(211))


def test_captions_replace_each_other_and_values_move_through_captions_alone():
    timeline = Timeline(
        scene({"at": 2, "caption": "now"}, {"at": 3, "caption": ""}, {"at": 4, "mu": 1.0}, mu=0.0, caption="before")
    )
    assert [timeline.values_at(t).caption for t in (0.0, 1.99, 2.0, 2.5, 3.0, 9.0)] == ["before", "before", "now", "now", "", ""]
    assert mu_at(timeline, 2.0) == 0.5


def test_parameters_of_the_view_and_nested_ones_of_the_system():
    system = {"kind": "attention", "weights": {"kind": "rotating", "omega": 2.0, "beta": 1.0}}
    timeline = Timeline(
        scene({"at": 2, "weights.omega": 4.0}, {"at": 2, "beta": 3.0}, {"at": 4, "view.camera.azimuth": 50.0}, system=system)
    )
    moment = timeline.values_at(1.0)
    assert moment.system == {"weights.omega": 3.0, "weights.beta": 2.0}
    assert moment.view == {"camera.azimuth": 20.0}
