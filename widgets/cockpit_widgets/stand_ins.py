"""ASCII in the place of what an encoding lacks, cell for cell, so that columns stay where they are."""

import codecs
import locale
import unicodedata
from collections.abc import Mapping

_STAND_INS = {
    **dict.fromkeys("●◆■▲▶►★✔✓", "*"), **dict.fromkeys("○◌◇□△▽▼·•", "."), **dict.fromkeys("×✕✖✗", "x"),
    **dict.fromkeys("─━┄╌—–‐‑−", "-"), **dict.fromkeys("│┃┆", "|"), **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯╸╺", "+"),
    **dict.fromkeys("▏▎▍▌▋▊▉█▇▆▅▄▓", "#"), **dict.fromkeys("▁▂▃▒░", "_"),
    **dict.fromkeys("‘’", "'"), **dict.fromkeys("“”", '"'),
    "…": ".", "←": "<", "→": ">", "↑": "^", "↓": "v", "≤": "<", "≥": ">", "≈": "~", "²": "2", "°": " ",
    "\u00a0": " ",
}  # fmt: skip

STAND_INS = "cockpit-stand-ins"
"""The name of the error handler, for `encode` and `open`."""


def stand_in(error: UnicodeError) -> tuple[str, int]:
    """For `codecs.register_error`: as many cells of ASCII as each character takes that the encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_cells, error.object[error.start : error.end])), error.end


def _cells(character: str) -> str:
    found = _STAND_INS.get(character)
    if found is not None:
        return found
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return ""
    return "??" if unicodedata.east_asian_width(character) in "WF" else "?"


codecs.register_error(STAND_INS, stand_in)


def terminal_encoding(environment: Mapping[str, str]) -> str:
    """What a terminal takes by the locale of an environment: ASCII where it is C or POSIX by name (Python
    would write UTF-8 all the same), UTF-8 where none is set."""
    named = next((environment[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environment.get(name)), "")
    if not named:
        return "utf-8"
    _, _, codeset = named.partition("@")[0].partition(".")
    if not codeset:
        codeset = "ascii" if named in ("C", "POSIX") else locale.normalize(named).partition(".")[2] or "utf-8"
    try:
        return codecs.lookup(codeset).name
    except LookupError:
        return "utf-8"
