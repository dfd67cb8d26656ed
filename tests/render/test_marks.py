"""Eigen-axes and arrows: where linear algebra puts them, as long as it says, in the colours that the legend names."""

import math

import numpy as np
import pytest

from render import palette
from render.frame import Frame
from render.marks import (
    LONGEST_ARC,
    LONGEST_ARROW,
    THICKNESS,
    Marks,
    arrow,
    axis_glyph,
    eigen_axes,
    even_points,
    head_words,
    heads_legend,
    ring,
)  # fmt: skip
from scenes import views
from scenes.load import load_scene
from tests.render.clouds import uniform, view
from tests.render.test_painted import Shown
from tests.scene_files import GLOBE, write

SIZE, RADIUS = (320, 180), 0.43 * 180


def angle(p, q):
    return np.arccos(np.clip(p @ q, -1, 1))


def test_eigen_axes_diagonalise_and_the_largest_come_first():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(5, 3, 3))
    values, vectors = eigen_axes(z)
    symmetric = (z + z.transpose(0, 2, 1)) / 2
    assert (np.diff(np.abs(values), axis=1) <= 0).all()
    np.testing.assert_allclose(vectors * values[:, None, :] @ vectors.transpose(0, 2, 1), symmetric, atol=1e-12)


@pytest.mark.parametrize("positive", [True, False])
def test_a_glyph_spans_its_arc_in_the_plane_of_both_axes(positive):
    points = axis_glyph(np.array([0, 0, 1.0]), np.array([1.0, 0, 0]), 0.3, positive, 1.0)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-12)
    away = angle(points, np.array([0, 0, 1.0]))
    assert away.max() == pytest.approx(0.3) and np.abs(points[away > 0.1][:, 1]).max() < 1e-12
    assert (away.min() < 1e-6) == positive  # the ring is open
    assert {np.sign(x) for x in points[away > 0.1][:, 0]} == {1, -1}


def test_a_small_eigenvalue_leaves_the_disc_alone():
    disc = axis_glyph(np.array([0, 1.0, 0]), np.array([1.0, 0, 0]), 0.0, True, 1.0)
    assert angle(disc, np.array([0, 1.0, 0])).max() < 3 * THICKNESS
    assert len(ring(np.array([0, 1.0, 0]), 0.0)) == 1


def test_an_arrow_follows_its_great_circle_for_its_length():
    start, v = np.array([0, 0, 1.0]), np.array([0, 0.2, 0])
    points = arrow(start, v)
    tip = np.array([0, math.sin(0.2), math.cos(0.2)])
    assert angle(points, start).max() == pytest.approx(0.2, abs=1e-6)
    assert angle(points, tip).min() < 1e-6 and angle(points, start).min() < 1e-6
    np.testing.assert_allclose(sorted(points[:, 0]), sorted(-points[:, 0]), atol=1e-12)  # barbs to both sides
    assert len(arrow(start, v * 1e-3)) == 0


def test_even_points_are_even():
    points = even_points(220)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=0.01)
    cosine = points @ points.T - 2 * np.eye(220)
    assert np.arccos(cosine.max(axis=1)).min() > 0.6 * math.sqrt(4 * math.pi / 220)


def marked(system, eye=(1.0, 0, 0), **keys):
    marks = Marks(views.GlobeView(kind="globe", **keys))
    marks.update(system)
    return marks, {front: [a.to_numpy() for a in marks.side(np.array(eye), front)] for front in (True, False)}


def test_every_axis_of_every_head_is_marked_at_both_ends():
    theta = np.array([np.diag([3.0, -1.0, 0.2]), np.diag([0.5, 1.0, 2.0])])
    _, sides = marked(Shown(uniform(10), theta), glyphs=True)
    points = np.concatenate([shown for shown, _ in sides.values()])
    words = np.concatenate([words for _, words in sides.values()])
    for h, head in enumerate(theta):
        mine = points[(words == head_words(2)[h]) & np.isfinite(points[:, 0])]
        for k in range(3):
            for sign in (1, -1):
                end = sign * np.eye(3)[k]
                away = np.sort(angle(mine, end))
                half = LONGEST_ARC * abs(head[k, k]) / 3
                assert (away < half + 0.001).sum() > (away < half - 0.02).sum() or half < 4 * THICKNESS
                assert away[0] < 4 * THICKNESS


def test_the_halves_share_the_marks_between_them():
    marks, sides = marked(Shown(uniform(10), np.eye(3)[None] * 2), arrows="flow")
    front, back = (np.isfinite(sides[half][0][:, 0]) for half in (True, False))
    assert not (front & back).any() and (front | back).sum() == len(marks._points)
    assert (sides[True][0][front][:, 0] > 0).all() and (sides[False][0][back][:, 0] <= 0).all()


def test_arrows_of_one_head_are_its_drift():
    """Head 2 of one token at a under c I: its softmax is c P_p a, towards a for sign +1."""
    a = np.array([0, 0, 1.0])
    system = Shown([a], np.array([np.diag([9.0, 0, 0]), 0.7 * np.eye(3)]), sign=1)
    marks, _ = marked(system, arrows=2)
    grid = even_points(220)
    expected = [arrow(p, 0.7 * (a - (a @ p) * p) * LONGEST_ARROW / 0.8) for p in grid]
    assert len(marks._points) == sum(len(points) for points in expected)
    np.testing.assert_allclose(marks._points, np.concatenate(expected), atol=1e-9)
    assert set(marks._words) == {head_words(2)[1]}
    legend = marks.legend(system)
    assert [name for name, _ in legend.entries] == ["$2$"] and "0.8" in legend.note


def test_heads_can_be_picked_and_many_are_summed_up():
    system = Shown(uniform(10), np.tile(np.eye(3), (20, 1, 1)))
    marks, _ = marked(system, glyphs=True, heads=[3, 7])
    assert set(marks._words) == set(head_words(20)[[2, 6]])
    assert [name for name, _ in marks.legend(system).entries] == ["$3$", "$7$"]
    names = [name for name, _ in heads_legend("head", range(20)).entries]
    assert names[:2] == ["$1$", "$2$"] and len(names) == 9 and names[-1] == r"$\cdots$"


def test_marks_are_seen_in_front_and_dimly_behind():
    """e_1 = x of the only head points at the eye; its disc is in the middle of the picture."""
    keys = {"glyphs": True, "graticule": False}
    system = Shown([[0, 0, 1.0]], np.diag([2.0, 0.1, 0.1])[None])

    def middle(azimuth, theta):
        system._theta = theta
        made, frame = view(SIZE, azimuth, **keys), Frame(*SIZE)
        made.draw(frame, system, 0.0)
        made.release()
        return frame.rgb()[90, 160].astype(int)

    color = np.array(palette.head_colors(1)[0], int)
    front = middle(0.0, np.diag([2.0, 0.1, 0.1])[None])
    assert np.abs(front / front.sum() - color / color.sum()).max() < 0.08 and front.sum() > 0.6 * color.sum()
    empty = middle(45.0, np.diag([2.0, 0.1, 0.1])[None])
    assert empty.sum() < 0.4 * front.sum()


def test_the_same_state_gives_the_same_bytes():
    system = Shown(uniform(60), np.array([np.diag([2.0, -1, 0.3]), np.eye(3)]))
    pictures = []
    for _ in range(2):
        made, frame = view(SIZE, 20.0, glyphs=True, arrows="all"), Frame(*SIZE)
        made.draw(frame, system, 0.0)
        made.draw(frame, system, 0.0)
        pictures.append(frame.rgb())
    np.testing.assert_array_equal(*pictures)


@pytest.mark.parametrize(("keys", "said"), [("arrows: 3", "view.arrows: asks for head 3 of 2"), ("heads: [1, 5]", "head 5 of 2")])
def test_a_head_that_is_not_there_is_refused(tmp_path, keys, said):
    from scenes.errors import SceneError

    with pytest.raises(SceneError, match=said):
        load_scene(write(tmp_path, GLOBE.replace("{kind: globe}", "{kind: globe, " + keys + "}")))
