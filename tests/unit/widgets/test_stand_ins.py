"""What stands for a character that an encoding lacks, and which encoding a terminal has."""

import pytest
from cockpit_widgets.stand_ins import STAND_INS, terminal_encoding
from rich.cells import cell_len


@pytest.mark.parametrize(
    "text", ["● ready  70°C", "━━╸── 3/8", "界 wide", "e\u0301 accent", "🚀 launched", "▁▃█ …"]
)
def test_columns_stay_where_they_are(text: str) -> None:
    plain = text.encode("ascii", STAND_INS).decode("ascii")
    assert cell_len(plain) == cell_len(text)


def test_known_signs_keep_their_sense() -> None:
    assert "● ok × lost ↑ 5 ≥ 3…".encode("ascii", STAND_INS) == b"* ok x lost ^ 5 > 3."


@pytest.mark.parametrize(
    ("environment", "encoding"),
    [
        ({}, "utf-8"),
        ({"LANG": "C.UTF-8"}, "utf-8"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, "ascii"),
        ({"LC_CTYPE": "POSIX"}, "ascii"),
        ({"LC_ALL": "", "LANG": "de_DE.ISO-8859-1"}, "iso8859-1"),
        ({"LANG": "de_DE@euro"}, "iso8859-15"),
        ({"LANG": "en_US"}, "iso8859-1"),
        ({"LANG": "nonsense.none"}, "utf-8"),
    ],
)
def test_the_encoding_by_the_locale(environment: dict[str, str], encoding: str) -> None:
    assert terminal_encoding(environment) == encoding
