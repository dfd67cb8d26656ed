"""A system on its way through a film: the grid, the timeline on it, seeds, rows. Equality of states is to the bit."""

import numpy as np
import pytest

from render.experiment import Experiment, build_system, generators
from render.player import run_table
from scenes.load import UserError
from scenes.spec import ATTENTION_COLUMNS, PLANE_COLUMNS, Scene


def attention(film=None, timeline=(), seed=3, **system):
    weights = {"kind": "rotating", "omega": 2.0}
    spec = {"kind": "attention", "tokens": {"count": 24}, "heads": 2, "weights": weights, "dt": 0.03, **system}
    film = {"size": [64, 64], "fps": 30, "seconds": 3, "speed": 1.0, **(film or {})}
    parts = {"title": "t", "seed": seed, "system": spec, "view": {"kind": "globe"}, "film": film, "timeline": list(timeline)}
    return Scene.model_validate(parts)


def plane(film=None, timeline=(), **system):
    spec = {"kind": "two_factor_plane", "iterations": 30, **system}
    film = {"size": [64, 64], "fps": 30, "seconds": 3, "speed": 1.0, **(film or {})}
    parts = {"title": "t", "system": spec, "view": {"kind": "plane"}, "film": film, "timeline": list(timeline)}
    return Scene.model_validate(parts)


def played(scene, fps, film_time):
    """The experiment after every frame up to `film_time`."""
    experiment = Experiment(scene, fps=fps)
    for i in range(round(film_time * fps) + 1):
        experiment.seek(i / fps)
    return experiment


RAMP = [{"at": 0.5, "beta": 2.0}, {"at": 2.5, "beta": 0.5, "ease": "smooth"}]


@pytest.mark.parametrize("speed", [0.7, 1.0, 2.0])
def test_30_and_60_frames_per_second_reach_the_same_state(speed):
    scene = attention({"speed": speed}, RAMP)
    slow, fast = played(scene, 30, 2.0), played(scene, 60, 2.0)
    assert slow.system.step_index == fast.system.step_index > 0
    assert np.array_equal(slow.system.positions(), fast.system.positions())
    assert np.array_equal(slow.system.shown(slow.shown_time).to_numpy(), fast.system.shown(fast.shown_time).to_numpy())
    assert slow.system.theta().tolist() == fast.system.theta().tolist()


def test_a_seek_depends_on_its_time_alone():
    scene = attention(timeline=RAMP)
    fresh, wandering = Experiment(scene, fps=30), Experiment(scene, fps=30)
    fresh.seek(1.0)
    for time in (0.3, 2.1, 1.01, 1.0):
        wandering.seek(time)
    assert wandering.system.step_index == fresh.system.step_index
    assert np.array_equal(wandering.system.positions(), fresh.system.positions())


def test_the_newest_state_is_the_first_at_or_after_the_picture():
    experiment = Experiment(attention({"speed": 1.5}), fps=30)
    for i in range(60):
        experiment.seek(i / 30)
        k, time = experiment.system.step_index, i / 30 * 1.5
        assert experiment.system.time == k * 0.03
        assert (k - 1) * 0.03 < time <= k * 0.03 + 1e-7


def test_a_grid_time_that_is_a_frame_time_needs_no_further_step():
    """0.1 k / 30 is not exact in binary: a rounding error must not cost a step."""
    experiment = Experiment(attention({"speed": 0.3}, dt=0.01), fps=30)
    assert [experiment.index_at(i / 30) for i in range(1000)] == list(range(1000))


def test_speed_zero_freezes_the_state_and_its_parameters():
    experiment = Experiment(attention({"speed": 0}, RAMP), fps=30)
    experiment.seek(2.0)
    assert experiment.system.step_index == 0 and experiment.shown_time == 0.0
    assert experiment.system.schedule.beta == 1.0


def test_parameters_follow_the_timeline_on_the_systems_grid():
    """beta = 1 + k dt / speed on the way from 1 at film time 0 to 3 at 2 s."""
    experiment = Experiment(attention({"speed": 0.5}, [{"at": 2, "beta": 3.0}]), fps=30)
    for i in range(50):
        experiment.seek(i / 30)
        assert experiment.system.schedule.beta == pytest.approx(1 + experiment.system.step_index * 0.03 / 0.5, abs=1e-14)


def test_more_heads_do_not_move_the_tokens_and_other_seeds_do():
    def start(**changes):
        system = build_system(attention(**changes), fps=30, size=(64, 64), balance=False)
        return system.start

    random = {"kind": "static", "theta": "random"}
    assert np.array_equal(start(weights=random), start(weights=random, heads=5))
    assert not np.array_equal(start(), start(seed=4))


def test_streams_are_independent_and_repeat():
    one, two = generators(5), generators(5)
    drawn = {purpose: stream.standard_normal(4).tolist() for purpose, stream in one.items()}
    assert drawn["tokens"] != drawn["weights"]
    assert all(two[purpose].standard_normal(4).tolist() == drawn[purpose] for purpose in two)


def test_rows_lie_on_the_grid_about_once_a_frame():
    experiment = Experiment(attention(dt=0.005), fps=30, measured="all")
    experiment.seek(1.0)
    assert experiment.every == 7  # 1 / (30 * 0.005) = 6.67
    columns = experiment.history.columns()
    assert columns["t"].tolist() == [7 * k * 0.005 for k in range(29)]
    assert set(columns) == set(ATTENTION_COLUMNS)
    assert columns["mean_speed"][-1] == experiment.history.newest["mean_speed"]
    experiment.seek(0.2)
    assert len(experiment.history) == 6


def test_the_newest_row_is_the_same_whether_all_are_kept_or_not():
    one, every = (Experiment(attention(dt=0.005), fps=30, measured=kept) for kept in ("newest", "all"))
    for time in (1.0, 0.5, 0.51, 0.9):
        one.seek(time)
        every.seek(time)
        assert len(one.history) == 1 and one.history.newest == every.history.newest


def test_nothing_is_measured_unless_asked():
    experiment = Experiment(attention(), fps=30)
    experiment.seek(0.5)
    assert experiment.history.newest is None and experiment.history.columns() == {}


def test_what_is_set_by_hand_stands_above_the_timeline_until_let_go():
    experiment = Experiment(attention(timeline=[{"at": 2, "beta": 3.0}]), fps=30)
    experiment.set_parameters({"weights.beta": 9.0, "weights.omega": 0.5})
    experiment.seek(1.0)
    assert experiment.system.schedule.beta == 9.0 and experiment.value_of("weights.omega") == 0.5
    experiment.let_go("weights.beta")
    assert experiment.system.schedule.beta == experiment.value_of("weights.beta") == 2.0
    experiment.let_go()
    assert experiment.system.schedule.omega == 2.0 and experiment.overrides == {}


def test_a_parameter_that_the_system_does_not_have_is_refused_and_not_kept():
    experiment = Experiment(attention(), fps=30)
    with pytest.raises(KeyError):
        experiment.set_parameters({"weights.kappa": 1.0})
    assert experiment.overrides == {}


def test_a_token_file_that_cannot_be_used_is_a_plain_error(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    with pytest.raises(UserError, match=r"tokens\.file.*x\.npy"):
        Experiment(attention(tokens={"start": "file", "file": str(tmp_path / "x.npy")}), fps=30)


def test_a_weights_file_that_cannot_be_used_is_a_plain_error(tmp_path):
    np.savez(tmp_path / "w.npz", theta=np.zeros((4, 3, 3, 3)))
    weights = {"kind": "keyframes", "file": str(tmp_path / "w.npz")}
    with pytest.raises(UserError, match=r"system\.weights: .*w\.npz: holds 3 heads, the system has 2"):
        Experiment(attention(weights=weights), fps=30)
    assert Experiment(attention(weights=weights, heads=3), fps=30).system.schedule.kind == "keyframes"
    np.savez(tmp_path / "w.npz", theta=np.triu(np.ones((4, 2, 3, 3))))
    with pytest.raises(UserError, match=r"system\.integrator: .*not symmetric"):
        Experiment(attention(weights=weights, integrator="jko", flow="gradient_flow"), fps=30)


def test_noise_moves_with_the_timeline_and_returns_when_let_go():
    weights = {"kind": "static", "noise": {"kappa": 1.0, "sigma": 0.5}}
    experiment = Experiment(attention(timeline=[{"at": 2, "weights.noise.sigma": 1.5}], weights=weights), fps=30)
    experiment.seek(1.0)
    assert experiment.system.schedule.noise.sigma == pytest.approx(0.5 + experiment.system.time / 2)
    experiment.set_parameters({"weights.noise.kappa": 4.0})
    assert experiment.system.schedule.noise.kappa == 4.0
    experiment.let_go()
    assert experiment.system.schedule.noise.kappa == 1.0


def test_movements_are_computed_in_double_precision_unless_asked_otherwise():
    def precision(**system):
        return build_system(attention(flow="gradient_flow", **system), fps=30, size=(64, 64), balance=False).precision

    assert precision(integrator="jko") == "f64" and precision(integrator="rk4") == "f32"
    assert precision(integrator="jko", precision="f32") == "f32"


def test_the_table_says_at_its_end_what_should_be_known():
    heard = []
    coarse = attention(weights={"kind": "static", "theta": 5.0, "value": 5.0}, sign=1, dt=1.0, integrator="euler")
    list(run_table(coarse, until=3.0, notice=heard.extend))
    assert len(heard) == 2 and "value matrix" in heard[0] and "dt 1 is too coarse" in heard[1]
    assert list(run_table(attention(), until=0.3, notice=heard.extend)) and len(heard) == 2


def test_the_table_of_an_attention_scene():
    rows = list(run_table(attention(), until=0.3, every=3))
    assert [row["t"] for row in rows] == [0.0, 3 * 0.03, 6 * 0.03, 9 * 0.03]
    assert all(tuple(row) == ATTENTION_COLUMNS for row in rows)
    assert rows[0]["power_residual"] == 0 and rows[-1]["power_residual"] is not None
    assert len(list(run_table(attention()))) == 1 + 100  # 3 s at speed 1: about one row a frame


def test_the_table_of_a_plane_follows_the_timeline_frame_by_frame():
    rows = list(run_table(plane(timeline=[{"at": 0, "mu": 0.5}, {"at": 2, "mu": 1.0}]), until=2.0, every=30))
    assert [row["mu"] for row in rows] == [0.5, 0.75, 1.0]
    assert [row["t"] for row in rows] == pytest.approx([0, 1, 2], abs=1e-12)
    assert all(tuple(row) == PLANE_COLUMNS for row in rows)


def test_a_planes_parameters_belong_to_the_frame():
    scene = plane(timeline=[{"at": 2, "mu": 1.9}], mu=0.5)
    slow, fast = played(scene, 30, 1.5), played(scene, 60, 1.5)
    assert slow.system.mu == fast.system.mu == pytest.approx(0.5 + 0.75 * 1.4)
    slow.seek(0.37)
    assert slow.system.mu == pytest.approx(0.5 + 0.37 / 2 * 1.4)


def test_bad_lengths_of_a_table_are_refused():
    with pytest.raises(ValueError, match="until"):
        next(run_table(attention(), until=-1.0))
    with pytest.raises(ValueError, match="every"):
        next(run_table(attention(), every=0))
