"""Names, labels, and what a new object is called."""

from random import Random

import hypothesis.strategies as st
from hypothesis import given

from cockpit.sim.server.names import (
    RULES,
    generated_faults,
    label_key_faults,
    label_value_faults,
    subdomain_faults,
)
from cockpit.sim.server.object_meta import generated_name, new_uid

LABEL = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)


@given(st.lists(LABEL, min_size=1, max_size=4))
def test_labels_with_dots_are_subdomains_and_keys(parts: list[str]) -> None:
    name = ".".join(parts)
    assert subdomain_faults(name) == []
    assert label_key_faults(f"{name}/{parts[0]}") == []
    assert bool(RULES["label"](name)) is ("." in name)


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


def test_faults_are_told_in_the_servers_words() -> None:
    assert RULES["label"]("a.b") == ["must not contain dots"]
    assert RULES["path"]("..") == ["may not be '..'"]
    assert label_value_faults("x" * 64) == ["must be no more than 63 bytes"]
    assert label_key_faults("/a") == ["prefix part must be non-empty"]
    assert subdomain_faults("x" * 254) == ["must be no more than 253 characters"]
    assert "a lowercase RFC 1123 subdomain must consist of" in subdomain_faults("A")[0]
