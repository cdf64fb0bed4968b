"""What went wrong outside the cluster, as data: its code, its own words, and whether anything may have been
done."""

import re

from cockpit.errors import CockpitError
from cockpit.mask import HIDDEN, clean_message
from cockpit.sanitise import clean

LONGEST = 400
_BLOB = re.compile(r"(?i)(encoded authorization failure message:)\s*\S+")


class OutsideError(CockpitError):
    """The owner of the machines refused or failed a request.

    `code` is theirs, or one of ours: `NoBoto3`, `NoAnswer`, `NoProgram`, `NotJson`, `ExitN`. `is_lost`: no
    answer came to a change, so nobody knows whether it was made; `is_over`: by now it is not under way any
    more, so a read settles it. `who` is as sentences name them.
    """

    exit_code = 1

    def __init__(
        self, who: str, code: str, message: str, *, is_lost: bool = False, is_over: bool = False
    ) -> None:
        self.who = who
        self.code = clean(code, 80)
        self.message = words(message)
        self.is_lost = is_lost
        self.is_over = is_over
        super().__init__(f"{who}: {self.message or self.code}")


class Moved(OutsideError):
    """The pool is no longer as it was shown, and nothing was sent. `is_another`: one of the same name."""

    def __init__(self, who: str, message: str, *, is_another: bool = False) -> None:
        self.is_another = is_another
        super().__init__(who, "Moved", message)


def words(text: str | bytes, limit: int = LONGEST) -> str:
    """Words from outside as one short line, without keys and tokens."""
    raw = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    flat = " ".join(_BLOB.sub(rf"\1 {HIDDEN}", raw[: 8 * limit]).split())
    return clean_message(flat, limit)
