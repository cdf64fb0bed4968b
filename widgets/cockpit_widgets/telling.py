"""Telling a screen at once what a key asked for, so that it acts before the next key does."""

from inspect import iscoroutinefunction

from textual.message import Message
from textual.widget import Widget


def tell(widget: Widget, message: Message) -> None:
    """Let the nearest ancestor with a handler for `message` handle it now; without one it is posted.

    A message that is posted takes a turn of the event loop for each ancestor, and keys behind the one that
    caused it do not wait: in one burst over a slow line `enter` and `3` acted the other way round.
    """
    for node in widget.ancestors:
        handler = getattr(node, message.handler_name, None)
        if handler is not None and not iscoroutinefunction(handler):
            handler(message)
            return
    widget.post_message(message)
