"""The line of key numbers: fixed digits, nothing without a meaning, in several panes only what holds for all."""

from types import SimpleNamespace

import pytest

from render.readout import key_numbers, shared, significant

FLOW = SimpleNamespace(kind="attention", count=64, heads=2, cluster_cosine=0.99)
ROW = {"t": 1.0, "energy": 0.5, "slope2": 3.25e-5, "edi_residual": None, "mean_speed": 0.125, "clusters": 7}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (0.5, "0.500"),
        (-1.23456, "-1.23"),
        (12.0, "12.0"),
        (123.4, "123"),
        (1035.6, "1040"),
        (99949.0, "99900"),
        (0.001234, "0.00123"),
        (3.25e-5, r"$3.25\times 10^{-5}$"),
        (-2e7, r"$-2.00\times 10^{7}$"),
        (None, ""),
        (float("inf"), ""),
        (float("nan"), ""),
    ],
)
def test_three_significant_digits(value, text):
    assert significant(value) == text


def test_an_attention_system_shows_clock_sizes_and_what_was_measured():
    numbers = key_numbers(FLOW, ROW, 1.0)
    assert numbers[:2] == [("$t$", "1.00"), (r"$N,\ H$", "64, 2")]
    assert ("$E$", "0.500") in numbers and any("0.99" in text and text.startswith("7") for _, text in numbers)


def test_what_has_no_meaning_or_was_not_measured_is_left_out():
    assert key_numbers(FLOW, None, 0.0) == [("$t$", "0.00"), (r"$N,\ H$", "64, 2")]
    assert all(label != "$E$" for label, _ in key_numbers(FLOW, {**ROW, "energy": None}, 1.0))


def test_a_plane_says_where_on_the_way_to_divergence_it_is():
    plane = SimpleNamespace(kind="two_factor_plane", mu=1.1, iterations=300)
    assert key_numbers(plane, None, 0.0) == [(r"$\mu$", "1.1000"), ("phase", "period 2"), ("steps", "300")]


def test_several_panes_share_what_is_equal():
    other = SimpleNamespace(**{**vars(FLOW), "heads": 9})
    assert shared([key_numbers(FLOW, ROW, 2.0), key_numbers(other, {**ROW, "energy": 0.25}, 2.0)]) == [
        ("$t$", "2.00"),
        (r"$|\partial E|^2$", r"$3.25\times 10^{-5}$"),
        (r"$\overline{|v|}$", "0.125"),
        ("clusters", r"7 at $\cos \geq 0.99$"),
    ]
