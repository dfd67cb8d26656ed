"""Colour bars: in a corner of their view, clear of the globe, with the map's own colours between the values they tell."""

import numpy as np
import pytest

from render.frame import Frame
from render.legend import Legend, Legends, legend_place, legend_ticks, tick_text
from render.palette import colormap
from render.stage import Stage, cells
from tests.render.clouds import StillCloud, view
from tests.render.test_stage import globe

SPEED = Legend("speed $|v|$", "speed", 0.0, 0.4)


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (640, 598), (427, 299), (480, 854)])
def test_the_place_is_inside_the_view_and_clear_of_the_globe(size: tuple[int, int]) -> None:
    made = view(size)
    place = legend_place(made, min(size) / 100)
    assert place is not None
    (left, top, width, height), unit = place
    assert left >= 0 and top >= 0 and left + width <= size[0] and top + height <= size[1] and height >= 10 * unit
    fit = made.fit()
    dx, dy = max(left - fit.x, 0), max(top - fit.y, 0)
    assert np.hypot(dx, dy) >= fit.radius


def test_the_place_keeps_out_of_what_is_kept_free_for_type() -> None:
    made = view((1000, 1400))
    made.inset = (0.0, 0.17, 0.1, 0.3)
    place = legend_place(made, 8.0)
    assert place is not None
    (left, top, width, height), _ = place
    assert top >= 0.17 * 1400 and left + width <= 900 and top + height <= 0.7 * 1400


def test_there_is_none_where_it_could_not_be_read() -> None:
    assert legend_place(view((40, 30)), 7.0) is None
    frame = Frame(40, 30)
    Legends(7.0).draw(frame, [SPEED], view((40, 30)), (0, 0))
    assert (frame.rgb() == 0).all()


def test_the_bar_runs_through_the_map_from_below() -> None:
    made, frame = view((640, 360)), Frame(640, 360)
    Legends(3.6).draw(frame, [SPEED], made, (0, 0))
    place = legend_place(made, 3.6)
    assert place is not None
    (left, top, _, height), unit = place
    column = frame.rgb()[top : top + height, left + round(2.1 * unit)].astype(int)
    table = colormap("speed").astype(int)
    nearest = [np.abs(table - color).sum(1).min() for color in column]
    index = [int(np.abs(table - color).sum(1).argmin()) for color in column]
    bar = [i for i, miss in zip(index, nearest, strict=True) if miss < 8]
    assert len(bar) > 0.6 * height and bar[0] > 245 and bar[-1] < 10 and (np.diff(bar) <= 0).all()


def test_ticks_are_round_values_between_the_ends() -> None:
    assert [text for _, text in legend_ticks(SPEED, many=True)] == ["0", "0.1", "0.2", "0.3", "0.4"]
    assert [text for _, text in legend_ticks(SPEED, many=False)] == ["0", "0.4"]
    for low, high in ((0.0, 15.0), (-2.3, 7.7), (0.913, 0.957), (0.0, 3e-7)):
        values = [value for value, _ in legend_ticks(Legend("", "viridis", low, high), many=True)]
        assert 2 <= len(values) <= 6 and low <= min(values) and max(values) <= high * (1 + 1e-9)


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (0.15, "0.15"), (-2.0, "\N{MINUS SIGN}2"), (3e-7, r"$3\times 10^{-7}$")])
def test_ticks_say_no_more_than_they_must(value: float, text: str) -> None:
    assert tick_text(value) == text


def test_a_stage_draws_one_bar_a_pane_for_speeds_and_none_for_starts() -> None:
    def shown(size: tuple[int, int], **changes) -> np.ndarray:
        stage = Stage(globe(title="", caption="", **changes), size)
        stage.overlaid = True
        picture = stage.show(0.0).rgb().astype(int)
        stage.overlaid = False
        bare = stage.draw().rgb().astype(int)
        stage.release()
        return np.abs(picture - bare).sum(-1) > 0

    size = (640, 360)
    corner = (slice(200, 360), slice(570, 640))
    assert shown(size)[corner].any() and not shown(size, view={"kind": "globe"})[corner].any()
    panes = [{"label": str(i)} for i in range(4)]
    written = shown(size, panes=panes)
    for (x, y), (w, h) in cells(4, (0, round(0.17 * 360), 640, 360 - round(0.17 * 360))):
        assert written[y + h // 2 : y + h, x + w // 2 : x + w].any()


def test_a_zoomed_globe_is_dimmed_behind_the_bar() -> None:
    made, frame = view((640, 360), zoom=4.0), Frame(640, 360, (200, 200, 200))
    Legends(3.6).draw(frame, [SPEED], made, (0, 0))
    place = legend_place(made, 3.6)
    assert place is not None
    (left, top, width, height), _ = place
    assert frame.rgb()[top + height // 2, left + width - 2].max() < 100
    assert made.legend(StillCloud([[1, 0, 0]])) is None
