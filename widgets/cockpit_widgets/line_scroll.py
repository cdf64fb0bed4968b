"""The ground of scrolling widgets that draw their own lines: length and place change without a new layout."""

from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip


class LineScroll(ScrollView):
    """A vertical scroll view whose number of lines may change many times a second.

    Textual lays the whole screen out again whenever `virtual_size` changes. Here that happens only when the
    scroll bar comes or goes; else the bar alone is told.
    """

    ALLOW_SELECT = False

    _line_width = 0

    @property
    def line_width(self) -> int:
        """Cells of one line: the content without the scroll bar. Asked of Textual once for each paint."""
        return self._line_width or self.measure_lines()

    def measure_lines(self) -> int:
        """Ask Textual again how wide a line is."""
        self._line_width = self.scrollable_content_region.width
        return self._line_width

    def render_lines(self, crop: Region) -> list[Strip]:
        self.measure_lines()
        return super().render_lines(crop)

    def resize_lines(self, count: int) -> None:
        """There are now `count` lines."""
        size = Size(0, count)
        if size == self.virtual_size:
            return
        container = self.container_size
        if not self.is_attached or not container or self.styles.auto_dimensions:
            self.virtual_size = size
            return
        if (count > container.height) != self.show_vertical_scrollbar:
            self.virtual_size = size
            # The bar that comes with the next layout starts at the top and is not told where the view is.
            self.call_after_refresh(self._place_bar)
            return
        self.set_reactive(LineScroll.virtual_size, size)
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = count
        if self.scroll_offset.y > self.max_scroll_y:
            self.jump(self.max_scroll_y)

    def jump(self, top: int) -> None:
        """Bring line `top` to the top of the view, at once, clamped to what there is. Not before mount."""
        if not self.is_attached:
            return
        top = max(0, min(top, self.max_scroll_y))
        if top != self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)

    def repaint_lines(self, lines: list[int]) -> None:
        """Paint these lines of the view again, and no others."""
        if lines:
            width = self.size.width
            self.refresh(*(Region(0, y, width, 1) for y in lines))

    def _place_bar(self) -> None:
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = self.scroll_y
