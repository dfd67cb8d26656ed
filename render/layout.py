"""Where things stand on a picture: one column of type beside one view, or a band of type above several.

Everything is a fraction of the picture, so a 1920x1080 film is the 1280x720 film, sharper.
"""

from dataclasses import dataclass

Size = tuple[int, int]
Rect = tuple[int, int, int, int]  # left, top, width, height, pixels

COLUMN = 0.315  # of the width, for the type of a single view in a picture that is wide enough
BAND = 0.17  # of the height, for the type above several views or in a tall picture
WIDE = 1.3  # from this width/height on a picture has the column
PLOT = 0.215  # of the height, for one panel


@dataclass(frozen=True)
class Layout:
    """The places of type, panels and views on a picture of `size`, with `panes` views and `panels` plots."""

    size: Size
    panes: int = 1
    panels: int = 0

    @property
    def column(self) -> bool:
        """Type in a column on the left, not in a band above."""
        return self.panes == 1 and self.size[0] >= WIDE * self.size[1]

    @property
    def margin(self) -> int:
        """Space to the borders."""
        return round(0.032 * self.size[1])

    @property
    def unit(self) -> float:
        """Type sizes are multiples of this, in pixels: a hundredth of the height, or of what the width allows."""
        return min(self.size[1], self.size[0] / 1.2) / 100

    @property
    def text(self) -> Rect:
        """Title, caption and numbers."""
        width, height = self.size
        m = self.margin
        if self.column:
            return m, m, round(COLUMN * width) - m, height - 2 * m - self._plots
        return m, m, width - 2 * m, round(BAND * height) - m

    @property
    def inset(self) -> tuple[float, float, float, float]:
        """What type and panels take from the picture: fractions left, top, right, bottom."""
        if self.column:
            return COLUMN, 0.0, 0.0, 0.0
        return 0.0, BAND, 0.0, (self._plots + self.margin) / self.size[1] if self.panels else 0.0

    @property
    def views(self) -> Rect:
        """The part of the picture that the views share."""
        width, height = self.size
        left, top, right, bottom = self.inset
        x, y = round(left * width), round(top * height)
        return x, y, width - x - round(right * width), height - y - round(bottom * height)

    def plot(self, index: int) -> Rect:
        """Panel number `index`: stacked at the foot of the column, or side by side at the foot of the picture."""
        width, height = self.size
        m = self.margin
        tall = round(PLOT * height)
        if self.column:
            return m, height - m - (self.panels - index) * tall, round(COLUMN * width) - m, tall
        wide = (width - 2 * m) // self.panels
        return m + index * wide, height - m - tall, wide, tall

    @property
    def _plots(self) -> int:
        """Height that panels take from the text."""
        rows = self.panels if self.column else min(self.panels, 1)
        return rows * round(PLOT * self.size[1])
