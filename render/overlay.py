"""Title, caption and the running line of numbers: what an audience reads, in a column beside the view or a band above."""

from collections.abc import Sequence

from render.frame import Frame
from render.layout import Layout
from render.palette import INK, MUTED, SERIES
from render.text import draw_text, line_height, number_layer, text_layer, width_of, wrapped

TITLE, CAPTION, NUMBER = 4.3, 2.75, 2.9  # type sizes in hundredths of the picture's height
GAP = 1.2  # between labels and values, in type sizes
LEAST = 0.7  # type may shrink to this share where a title or caption is too long for its place


class Overlay:
    """Draws type over a finished picture. Strings are rendered once and kept; the numbers are put together from digits."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def draw(self, frame: Frame, *, title: str = "", caption: str = "", numbers: Sequence[tuple[str, str]] = ()) -> None:
        """`numbers`: (mathtext label, value), in reading order. An empty string takes no room."""
        x, top, width, height = self.layout.text
        y, end = float(top), float(top + height)
        y = self._paragraph(frame, title, (x, y), TITLE, width, (end - y) * 0.45, bold=True)
        y += self.layout.unit * 0.8 if title else 0
        if self.layout.column:
            reserve = len(numbers) * self._row
            y = self._paragraph(frame, caption, (x, y), CAPTION, width, end - y - reserve)
            self._list(frame, numbers, x, y + self.layout.unit * 1.6, end)
        else:
            y = self._paragraph(frame, caption, (x, y), CAPTION, width, end - y - self._row)
            self._line(frame, numbers, x, y, width)

    def label(self, frame: Frame, text: str, x: int, y: int) -> None:
        """A pane's label in its top left corner (x, y)."""
        size = CAPTION * self.layout.unit
        draw_text(frame, text_layer(text, size, INK, bold=True), x + self.layout.margin / 2, y + self.layout.margin / 3)

    @property
    def _row(self) -> float:
        return line_height(NUMBER * self.layout.unit) * 1.02

    def _paragraph(
        self,
        frame: Frame,
        text: str,
        corner: tuple[float, float],
        size: float,
        width: float,
        height: float,
        *,
        bold: bool = False,
    ) -> float:
        """Wrapped text from `corner` down, shrunk where it must be; returns the row below it."""
        x, y = corner
        if not text:
            return y
        pixels = size * self.layout.unit
        lines = wrapped(text, pixels, width, bold=bold)
        while len(lines) * line_height(pixels) * 0.9 > height and pixels > LEAST * size * self.layout.unit:
            pixels *= 0.93
            lines = wrapped(text, pixels, width, bold=bold)
        for line in lines:
            draw_text(frame, text_layer(line, pixels, INK if bold else MUTED, bold=bold), x, y)
            y += line_height(pixels) * 0.9
        return y

    def _list(self, frame: Frame, numbers: Sequence[tuple[str, str]], x: float, y: float, end: float) -> None:
        """One number a row, values aligned; type shrinks where the longest row needs it."""
        room = self.layout.text[2]
        size = NUMBER * self.layout.unit
        longest = max((_widths(label, value, size) for label, value in numbers), default=0.0)
        size *= min(1.0, room / max(longest, 1.0))
        labels = [width_of(label, size) for label, _ in numbers]
        column = max((width for width in labels if width < 4 * size), default=0) + GAP * size
        for (label, value), width in zip(numbers, labels, strict=True):
            if y + line_height(size) > end:
                return
            draw_text(frame, text_layer(label, size, SERIES[0]), x, y)
            draw_text(frame, number_layer(value, size), x + max(column, width + 0.6 * size), y)
            y += self._row

    def _line(self, frame: Frame, numbers: Sequence[tuple[str, str]], x: float, y: float, width: float) -> None:
        """All numbers in one row, as many as there is room for."""
        size, end = NUMBER * self.layout.unit * 0.9, x + width
        for label, value in numbers:
            name = text_layer(label, size, SERIES[0])
            number = number_layer(value, size)
            if x + name.shape[1] + number.shape[1] + size > end:
                return
            draw_text(frame, name, x, y)
            draw_text(frame, number, x + name.shape[1] + 0.4 * size, y)
            x += name.shape[1] + number.shape[1] + 1.9 * size


def _widths(label: str, value: str, size: float) -> float:
    """Pixels that a row of the list may need, rounding included."""
    return float(max(width_of(label, size), 4 * size) + GAP * size + number_layer(value, size).shape[1] + 2)
