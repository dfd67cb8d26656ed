"""Keys and mouse of the live window. Expected gestures follow from the arithmetic of pointers and clocks; no window is opened."""

import pytest

from render import live_input
from render.live_input import ARROWS, KEYS, LEGEND, ZOOM_STEP, ZOOMS, Action, Band, Drag, Input, Polled, Zoom

SIZE = (1000, 800)
MIDDLE = (500.0, 400.0)
GGUI_KEYS = {
    *"abcdefghijklmnopqrstuvwxyz",
    " ",
    "Return",
    "Tab",
    "BackSpace",
    "Escape",
    "Up",
    "Down",
    "Left",
    "Right",
    "CapsLock",
}


def press(*keys: str, at: tuple[float, float] = (0.0, 0.0), time: float = 0.0) -> Polled:
    return Polled(presses=keys, cursor=at, size=SIZE, time=time)


def release(*keys: str, at: tuple[float, float] = (0.0, 0.0), time: float = 0.0) -> Polled:
    return Polled(releases=keys, cursor=at, size=SIZE, time=time)


def move(x: float, y: float, time: float = 0.0) -> Polled:
    return Polled(cursor=(x, y), size=SIZE, time=time)


def test_every_bound_key_is_one_that_the_window_library_reports() -> None:
    assert {*KEYS, *ARROWS, *ZOOMS} <= GGUI_KEYS


def test_every_action_has_a_key_and_stands_in_the_legend() -> None:
    assert set(KEYS.values()) == set(Action)
    listed = " ".join(keys for keys, _ in LEGEND).replace(",", " ").split()
    named = {"space" if key == " " else key for key in KEYS}
    assert named <= set(listed)


@pytest.mark.parametrize(("key", "action"), KEYS.items())
def test_a_key_acts_once_however_long_it_is_held(key: str, action: Action) -> None:
    reader = Input()
    assert reader.read(press(key)) == [action]
    assert reader.read(move(0, 0, time=5.0)) == []
    assert reader.read(release(key, time=5.1)) == []
    assert reader.read(press(key, time=5.2)) == [action]


def test_a_key_pressed_and_released_between_two_looks_is_not_lost() -> None:
    assert Input().read(Polled(presses=("s",), releases=("s",), size=SIZE)) == [Action.SCREENSHOT]


def test_unbound_keys_do_nothing() -> None:
    assert Input().read(press("q", "CapsLock", "Alt")) == []


@pytest.mark.parametrize(("key", "sign"), [("Left", (1, 0)), ("Right", (-1, 0)), ("Up", (0, 1)), ("Down", (0, -1))])
def test_an_arrow_moves_the_content_by_a_twentieth_of_the_height(key: str, sign: tuple[int, int]) -> None:
    assert Input().read(press(key)) == [Drag(40.0 * sign[0], 40.0 * sign[1], *MIDDLE)]


def test_zoom_keys_are_inverse_to_each_other_about_the_middle() -> None:
    reader = Input()
    (closer,), (farther,) = reader.read(press("i")), reader.read(press("o"))
    assert closer == Zoom(ZOOM_STEP, *MIDDLE)
    assert isinstance(farther, Zoom) and closer.factor * farther.factor == pytest.approx(1, rel=1e-15)


def test_a_held_arrow_repeats_after_a_pause_at_a_rate_that_does_not_depend_on_the_frame_rate() -> None:
    def total(fps: int) -> float:
        reader = Input()
        reader.read(press("Left", time=0.0))
        moved = 0.0
        for frame in range(1, 2 * fps + 1):
            moved += sum(g.dx for g in reader.read(move(0, 0, time=frame / fps)) if isinstance(g, Drag))
        return moved / 40.0

    expected = 1 + (2 - live_input.REPEAT_AFTER) * live_input.REPEATS
    for fps in (4, 30, 144):
        assert total(fps) == pytest.approx(expected, abs=1.0)
    reader = Input()
    reader.read(press("Left", time=0.0))
    assert reader.read(move(0, 0, time=live_input.REPEAT_AFTER - 0.01)) == []


def test_a_released_arrow_stops() -> None:
    reader = Input()
    reader.read(press("Up"))
    reader.read(release("Up", time=0.1))
    assert reader.read(move(0, 0, time=9.0)) == []


def test_dragging_adds_up_to_the_way_of_the_pointer_and_remembers_where_it_began() -> None:
    reader = Input()
    reader.read(press("LMB", at=(100, 200)))
    steps = [g for x, y in ((110, 190), (150, 260), (90, 205)) for g in reader.read(move(x, y))]
    assert all(isinstance(g, Drag) and (g.x, g.y) == (100, 200) for g in steps)
    assert sum(g.dx for g in steps) == -10 and sum(g.dy for g in steps) == 5
    assert reader.read(release("LMB", at=(95, 205))) == [Drag(5, 0, 100, 200)]
    assert reader.read(move(400, 400)) == []


@pytest.mark.parametrize(("modifier", "button"), [("Shift", "LMB"), (None, "RMB")])
def test_a_rectangle_is_shown_while_drawn_and_given_when_let_go(modifier: str | None, button: str) -> None:
    reader = Input()
    if modifier:
        reader.read(press(modifier))
    assert reader.read(press(button, at=(300, 100))) == []
    assert reader.read(move(120, 250)) == []
    assert reader.band == Band(300, 100, 120, 250)
    assert reader.read(release(button, at=(100, 260))) == [Band(300, 100, 100, 260)]
    assert reader.band is None


def test_a_rectangle_as_thin_as_a_slip_of_the_hand_is_not_taken() -> None:
    reader = Input()
    reader.read(press("RMB", at=(300, 100)))
    assert reader.read(release("RMB", at=(600, 100 + live_input.MIN_BAND - 1))) == []


@pytest.mark.parametrize(("modifier", "button"), [("Control", "LMB"), (None, "MMB")])
def test_a_zoom_drag_depends_on_the_way_alone_and_up_is_in(modifier: str | None, button: str) -> None:
    reader = Input()
    if modifier:
        reader.read(press(modifier))
    reader.read(press(button, at=(10, 500)))
    factor = 1.0
    for y in (480, 430, 400):
        (gesture,) = reader.read(move(10, y))
        assert isinstance(gesture, Zoom) and (gesture.x, gesture.y) == (10, 500)
        factor *= gesture.factor
    assert factor == pytest.approx(live_input.ZOOM_DRAG**100, rel=1e-12) and factor > 1


def test_a_drag_that_begins_on_a_panel_belongs_to_the_panel_wherever_it_goes() -> None:
    reader = Input(on_panel=lambda x, _y: x < 200)
    reader.read(press("LMB", at=(150, 50)))
    assert reader.read(move(600, 300)) == []
    assert not reader.panel_let_go
    assert reader.read(release("LMB", at=(600, 300))) == []
    assert reader.panel_let_go
    reader.read(press("LMB", at=(600, 300)))
    assert reader.read(move(100, 300)) == [Drag(-500, 0, 600, 300)]  # and one from outside may cross a panel


def test_while_a_number_is_typed_into_a_slider_keys_do_nothing_else() -> None:
    reader = Input(on_panel=lambda x, _y: x < 200)
    reader.read(press("Control"))
    reader.read(press("LMB", at=(50, 50)))
    reader.read(release("LMB", "Control", at=(50, 50)))
    assert reader.typing
    assert reader.read(press("r")) == []
    assert reader.read(press("Escape")) == []  # ends the typing, does not close the window
    assert not reader.typing
    assert reader.read(press("r")) == [Action.RESTART]


def test_a_second_button_does_not_disturb_a_drag() -> None:
    reader = Input()
    reader.read(press("LMB", at=(0, 0)))
    reader.read(press("RMB", at=(10, 10)))
    reader.read(release("RMB", at=(10, 10)))
    assert reader.read(move(30, 10)) == [Drag(20, 0, 0, 0)]
