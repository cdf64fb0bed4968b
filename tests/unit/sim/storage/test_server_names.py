"""Names, labels, and what a new object is called."""

from random import Random

import hypothesis.strategies as st
from hypothesis import given

from cockpit.sim.server.names import (
    RULES,
    generated_faults,
    subdomain_faults,
)
from cockpit.sim.server.object_meta import generated_name, new_uid

LABEL = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)


@given(st.text(max_size=8))
def test_a_subdomain_never_has_what_a_path_cannot_carry(name: str) -> None:
    if not subdomain_faults(name):
        assert name
        assert name.isascii()
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
        assert not RULES["path"](name)


@given(LABEL, st.integers())
def test_a_generated_name_is_a_name(prefix: str, seed: int) -> None:
    name = generated_name(f"{prefix}-", Random(seed))
    assert generated_faults(f"{prefix}-", "subdomain") == []
    assert subdomain_faults(name) == []
    assert name.startswith(prefix)
    assert len(name) <= 63
    assert new_uid(Random(seed)) == new_uid(Random(seed))
