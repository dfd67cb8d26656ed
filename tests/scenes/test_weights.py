"""Scene keys of weights and integrators: the ways to give numbers per head, data files, and what cannot go together."""

import numpy as np
import pytest

from scenes.errors import SceneError, UserError
from scenes.fields import live_parameters
from scenes.load import dump_scene, load_scene, resolve_panes

SCENE = """\
title: t
system:
  kind: attention
  heads: 2
  weights: WEIGHTS
  flow: gradient_flow
view: {kind: globe}
"""
FORMS = [
    "{kind: static, theta: [[1, 2, 0], [0, 1, 0], [0, 0, 1]], value: [1, 2, 3]}",
    "{kind: static, theta: [[[1, 2, 0], [2, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]]}",
    "{kind: ou, M: 2, kappa: [1, 2], sigma: {uniform: [0.5, 1]}}",
    "{kind: decaying, theta0: random, kappa: {normal: [1, 0.01]}, noise: {kappa: 2, sigma: [0.1, 0.2]}}",
    "{kind: oscillating, omega: {normal: [1, 0.2]}, phases: {uniform: [0, 1]}, noise: {}}",
    "{kind: rotating, omega: [1, 2], value: [[[1, 2, 0], [0, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 9]]]}",
]


@pytest.fixture
def write(tmp_path):
    np.savez(tmp_path / "w.npz", theta=np.zeros((2, 2, 3, 3)))

    def written(weights, more=""):
        path = tmp_path / "scene.yaml"
        path.write_text(SCENE.replace("WEIGHTS", weights) + more)
        return path

    return written


def refused(path, *overrides):
    with pytest.raises(SceneError) as caught:
        load_scene(path, overrides)
    return str(caught.value)


@pytest.mark.parametrize("weights", FORMS)
def test_every_form_is_read_and_written_back(write, tmp_path, weights):
    scene = load_scene(write(weights))
    (tmp_path / "again.yaml").write_text(dump_scene(scene))
    assert load_scene(tmp_path / "again.yaml") == scene


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("{kind: ou, kappa: [1, 2, 3]}", "system.weights.kappa: lists 3 numbers for 2 heads"),
        ("{kind: static, noise: {sigma: [1, 2, 3]}}", "system.weights.noise.sigma: lists 3 numbers for 2 heads"),
        ("{kind: static, value: [[[1, 0, 0], [0, 1, 0], [0, 0, 1]]]}", "system.weights.value: lists 1 matrices for 2 heads"),
        ("{kind: decaying, kappa: 0}", "greater than 0"),
        ("{kind: ou, kappa: {uniform: [2, 1]}}", "system.weights.kappa.uniform: the bounds [2, 1] are in the wrong order"),
        ("{kind: ou, kappa: {gamma: [2, 1]}}", "system.weights.kappa.gamma: is not a key of `system.weights.kappa`"),
        ("{kind: ou, kappa: {}}", "system.weights.kappa: a law is"),
        ("{kind: ou, sigma: [1, -1]}", "system.weights.sigma.1: `-1` is out of range"),
        ("{kind: ou, sigma: big}", "system.weights.sigma: `big` is not a number"),
        ("{kind: rotating, phases: sprad}", "did you mean `spread`"),
        ("{kind: static, noise: {omega: 1}}", "system.weights.noise.omega"),
        ("{kind: keyframes}", "system.weights.file: is missing"),
        ("{kind: keyframes, file: none.npz}", "system.weights.file: there is no file"),
        ("{kind: keyframes, file: w.npz, interpolation: cube}", "did you mean `cubic`"),
        ("{kind: keyframes, file: w.npz, pace: 0}", "greater than 0"),
    ],
)
def test_what_does_not_fit_is_said_with_its_key(write, weights, words):
    message = refused(write(weights))
    assert words in message and "\n" not in message


def test_files_count_from_the_scene_also_in_panes(write, tmp_path):
    panes = "panes: [{label: a, system: {weights: {kind: keyframes, file: w.npz}}}]\n"
    scene = load_scene(write("{kind: keyframes, file: w.npz}", panes))
    assert scene.system.weights.file == str(tmp_path / "w.npz")
    assert resolve_panes(scene)[0][1].system.weights.file == str(tmp_path / "w.npz")
    assert "panes.0.system.weights.file: there is no file" in refused(write("{kind: static}", panes.replace("w.npz", "x.npz")))


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["system.flow=softmax"], "use `flow: gradient_flow`"),
        (["system.weights.value=1.0"], "weights.value"),
        (["system.weights.theta=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]"], "`weights.theta` is not symmetric"),
    ],
)
def test_movements_need_an_energy(write, overrides, words):
    path = write("{kind: static}")
    assert load_scene(path, ["system.integrator=jko"]).system.integrator == "jko"
    message = refused(path, "system.integrator=jko", *overrides)
    assert "system.integrator: jko lowers an energy" in message and words in message


def test_what_moves_is_a_number_of_its_own(write):
    scene = load_scene(write("{kind: ou, kappa: [1, 2], sigma: 1.0, noise: {kappa: 3.0, sigma: {uniform: [0, 1]}}}"))
    paths = [parameter.path for parameter in live_parameters(scene.system)]
    assert paths == ["weights.beta", "weights.noise.kappa", "weights.sigma"]
    with pytest.raises(UserError, match=r"out of range"):
        load_scene(write("{kind: ou, noise: {}}", "timeline: [{at: 1, weights.noise.kappa: -1}]\n"))
    moved = load_scene(write("{kind: ou, noise: {}}", "timeline: [{at: 1, weights.noise.kappa: 2}]\n"))
    assert moved.timeline[0].targets == {"weights.noise.kappa": 2}
