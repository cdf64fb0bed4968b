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


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(words, st.lists(words, max_size=4)), max_size=12))
def test_many_at_once_is_what_one_by_one_is(script: list[tuple[str, list[str]]]) -> None:
    at_once, one_by_one = Multimap(), Multimap()
    for key, values in script:
        at_once.add_all(key, values)
        for value in values:
            one_by_one.add(key, value)
    keys = [*one_by_one.keys()]
    assert [*at_once.keys()] == keys
    assert [at_once.get(key) for key in keys] == [one_by_one.get(key) for key in keys]
    assert [at_once.count(key) for key in keys] == [one_by_one.count(key) for key in keys]
