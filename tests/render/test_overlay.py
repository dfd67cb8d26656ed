"""Type: rendered once, never cut, readable whatever a caption holds; numbers whose digits do not jump."""

import numpy as np
import pytest

from render.curves import PANELS, Panels, _step_up
from render.frame import Frame
from render.layout import Layout
from render.overlay import Overlay
from render.palette import SERIES
from render.text import number_layer, readable, text_layer, width_of, wrapped

SIZES = [(1280, 720), (1920, 1080), (720, 1280), (640, 360), (64, 64)]


def inked(layer):
    """Rows and columns of the first and last pixel with any ink."""
    rows, columns = np.nonzero(layer >> 24)
    return rows.min(), rows.max(), columns.min(), columns.max()


@pytest.mark.parametrize("size", [9, 20, 31.5, 60])
@pytest.mark.parametrize(
    "text", ["Àgjqy|{}", r"$\lambda_\perp(\mu) = \overline{|v|}^2$", r"$\mu = 2\sqrt{2} - 2$: catapult", "Möbius – β ∂ λ"]
)
def test_nothing_is_cut_off(text, size):
    layer = text_layer(text, size)
    _, _, left, right = inked(layer)
    assert left >= 0 and right <= layer.shape[1] - 1
    edge = (layer[0] >> 24, layer[-1] >> 24)
    assert max(part.max() for part in edge) < 128, "letters touch the layer's edge"


def test_letters_without_a_glyph_become_boxes():
    assert inked(text_layer("naïve 'β' 球", 20))


def test_layers_are_rendered_once():
    assert text_layer("once", 20) is text_layer("once", 20)


@pytest.mark.parametrize("text", ["a lone $ sign", r"$\nosuchcommand$", "$x$ and $", "$$", "100 %", r"\frac"])
def test_bad_mathematics_is_shown_as_it_stands(text):
    assert inked(text_layer(text, 20))
    if text == "$x$ and $":
        assert readable(text) == text  # an odd sign: matplotlib takes it literally


def test_mathematics_is_set_as_mathematics():
    assert width_of(r"$\lambda_\perp$", 20) < width_of(r"\lambda_\perp", 20) / 2


def test_numbers_do_not_jump():
    """All digits take the same room, so a number of as many digits has the same width."""
    widths = {number_layer(f"{value:.3f}", 21).shape[1] for value in np.linspace(0, 9.999, 50)}
    assert len(widths) == 1
    assert number_layer("-1.5", 21).shape[1] > number_layer("1.5", 21).shape[1]


def test_wrapping_keeps_words_and_mathematics_whole():
    text = r"Past $\mu = 2 \sqrt{2} - 2$ the error may rise before it falls, and everything after that is longer than a line."
    lines = wrapped(text, 20, 300)
    assert " ".join(lines) == text
    assert len(lines) > 3 and all(width_of(line, 20) <= 300 for line in lines)
    assert all(line.count("$") % 2 == 0 for line in lines)
    assert wrapped("", 20, 300) == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("panels", [0, 2])
@pytest.mark.parametrize("panes", [1, 4])
def test_the_parts_of_a_picture_do_not_overlap(size, panels, panes):
    layout = Layout(size, panes=panes, panels=panels)
    used = np.zeros(size[::-1], int)
    for x, y, width, height in [layout.views, layout.text, *(layout.plot(i) for i in range(panels))]:
        assert x >= 0 and y >= 0 and width > 0 and x + width <= size[0] and y + height <= size[1]
        used[y : y + max(height, 0), x : x + width] += 1
    assert used.max() == 1


@pytest.mark.parametrize("size", SIZES[:4])
def test_type_stays_in_its_place(size):
    """Even a title and a caption of the greatest length leave the views' part untouched."""
    layout = Layout(size)
    frame = Frame(*size)
    before = frame.pixels.copy()
    numbers = [("$t$", "12.34"), (r"$|\partial E|^2$", "0.0123"), ("clusters", "12 at $\\cos \\geq 0.99$")]
    Overlay(layout).draw(frame, title="A title of some length " * 4, caption="A caption with many words. " * 8, numbers=numbers)
    changed = frame.pixels != before
    x, y, width, height = layout.views
    assert changed.any()
    assert not changed[y : y + height, x : x + width].any()


def test_type_is_readable_from_the_back_row():
    """Capitals of a caption are at least 1.8 % of the picture's height, of a title 2.8 %."""
    for size in SIZES[:2]:
        unit = Layout(size).unit
        top, bottom, *_ = inked(text_layer("H", 2.75 * unit))
        assert (bottom - top + 1) / size[1] > 0.018
        top, bottom, *_ = inked(text_layer("H", 4.3 * unit, bold=True))
        assert (bottom - top + 1) / size[1] > 0.028


def history(count=50):
    t = np.linspace(0, 4, count)
    columns = {"slope2": np.exp(-t), "energy": 1 + t, "edi_residual": 1e-4 * t, "power_residual": -1e-5 * t}
    return {"t": t, **columns, "mean_speed": 0.2 + 0 * t, "clusters": 20 - 4 * t}


def draw_panels(rows, size=(640, 360), names=("slope2", "balance")):
    frame = Frame(*size)
    Panels(list(names), Layout(size, panels=len(names))).draw(frame, rows)
    return frame.pixels


@pytest.mark.parametrize("name", PANELS)
def test_every_panel_draws_its_curve(name):
    with_curve, without = draw_panels(history(), names=[name]), draw_panels({}, names=[name])
    colors = with_curve.view(np.uint8).reshape(*with_curve.shape, 4)[..., :3].astype(int)
    assert (np.abs(colors - SERIES[0]).max(axis=-1) < 30).sum() > 40
    assert (with_curve != without).any()


def test_panels_take_gaps_single_rows_and_nothing():
    gaps = history()
    gaps["slope2"][10:20] = np.nan
    gaps["edi_residual"][:] = np.nan
    for rows in (gaps, {key: value[:1] for key, value in history().items()}, {}, {"t": np.zeros(1), "slope2": np.zeros(1)}):
        assert (draw_panels(rows) != 0).any()


def test_the_curve_ends_where_its_last_value_is():
    """The dot of the last row stands at (t, value) of the panel's axes, to two pixels."""
    size = (1280, 720)
    layout = Layout(size, panels=1)
    frame = Frame(*size)
    panels = Panels(["speed"], layout)
    rows = {"t": np.array([0.0, 2.0]), "mean_speed": np.array([1.0, 1.0])}
    panels.draw(frame, rows)
    plot = panels._plots[0]
    end, low, high = plot._rounded(rows)
    x, y, width, height = plot._inner
    column = plot.rect[0] + x + width * 2.0 / end
    row = plot.rect[1] + y + height * (1 - (1.0 - low) / (high - low))
    colors = frame.rgba[..., :3].astype(int)
    blue = np.argwhere(np.abs(colors - SERIES[0]).max(axis=-1) < 40)
    dot = blue[blue[:, 1] > column - 3]
    assert np.abs(dot.mean(axis=0) - [row, column]).max() < 2.5


def test_axes_are_drawn_again_only_when_limits_move():
    panels = Panels(["energy"], Layout((640, 360), panels=1))
    plot, frame, layers = panels._plots[0], Frame(640, 360), set()
    for count in range(2, 60):
        rows = {"t": np.linspace(0, count / 10, count), "energy": 1 + np.linspace(0, count / 60, count)}
        panels.draw(frame, rows)
        layers.add(id(plot._axes))
    assert len(layers) < 20


def test_limits_go_up_in_rounded_steps():
    assert [_step_up(value) for value in (0.3, 1.0, 1.1, 3, 70, 0)] == [0.5, 1.0, 2.0, 5.0, 100.0, 1.0]
