"""What becomes of an error that a command does not expect: one sentence, and a report without values."""

import sys
import threading

from cockpit import memory_guard
from cockpit.errors import shortage_of


def was_interrupted(error: Exception) -> bool:
    """Whether it was ctrl+c: Python before 3.12 makes a RuntimeError of one that hits a class being made."""
    return isinstance(error.__cause__, KeyboardInterrupt)


def unexpected(error: Exception) -> str:
    """The sentence for an unexpected error; a report is kept where one helps."""
    if was_interrupted(error):
        return "interrupted"
    if short := shortage_of(error):
        return short
    if isinstance(error, RecursionError):
        return "what was read nests too deeply to be read"
    from cockpit.clock import SystemClock
    from cockpit.local_state.crashes import Crashes

    return Crashes.of_this_user(SystemClock()).note(error, "the command")


def note_what_escapes() -> None:
    """Errors of threads, of the event loop's callbacks and of finalizers get a sentence and a report, too."""
    import logging

    def tell(error: BaseException | None) -> None:
        if isinstance(error, Exception) and not memory_guard.shortage():
            sys.stderr.write(f"cockpit: {unexpected(error)}\n")

    class Net(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(record.exc_info[1] if record.exc_info else None)

    logging.lastResort = Net(logging.WARNING)
    threading.excepthook = lambda raised: tell(raised.exc_value)
    sys.unraisablehook = lambda raised: tell(raised.exc_value)
