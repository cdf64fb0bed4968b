"""The multimap against a dict of sets."""

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.store.multimap import Multimap

words = st.sampled_from(("", "a", "b", "c"))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), words, words), max_size=40))
def test_it_holds_what_a_dict_of_sets_would(script: list[tuple[bool, str, str]]) -> None:
    found, naive = Multimap(), dict[str, set[str]]()
    for adds, key, value in script:
        if adds:
            found.add(key, value)
            if key:
                naive.setdefault(key, set()).add(value)
        else:
            found.discard(key, value)
            naive.get(key, set()).discard(value)
    naive = {key: values for key, values in naive.items() if values}
    assert {key: set(found.get(key)) for key in found.keys()} == naive  # noqa: SIM118
    assert len(found) == len(naive)
    for key in ("", "a", "b", "c"):
        assert (key in found) == (key in naive)
        assert found.count(key) == len(naive.get(key, ())) == len(found.get(key))
