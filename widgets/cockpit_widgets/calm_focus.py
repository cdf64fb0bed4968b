"""A screen on which the focus may move without every line of it being drawn and sent again."""

from textual.reactive import Reactive
from textual.widget import Widget


class CalmFocus:
    """Stands before Textual's Screen among the bases of a screen.

    The widgets that lose and get the focus repaint themselves. Textual also repaints the whole screen
    with each step from field to field: 12,000 cells at 200x60, over a bastion's link.
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
