"""The keys that a finding names are keys of the screens."""

import pytest

from cockpit.screens.keymap import KEYS
from cockpit.triage.remedies import KILL, LOGS, OPEN, WHY, KeyRemedy


@pytest.mark.parametrize("one", [WHY, LOGS, OPEN, KILL], ids=lambda one: one.words)
def test_a_remedy_is_a_key_of_the_screens(one: KeyRemedy) -> None:
    key = next(key for key in KEYS if key.id == one.action)
    assert (one.key, one.is_write) == (key.keys, key.is_write)
