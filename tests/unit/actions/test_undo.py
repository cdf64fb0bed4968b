"""What takes an action back: by the opposite verb, or by the same with what was before."""

from typing import Any

import pytest

from cockpit.actions.verbs.registry import VERBS, verb_of
from cockpit.actions.verbs.verb import Verb
from cockpit.local_state.audit import Entry, actions_of


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb.undone_by], ids=lambda verb: verb.id)
def test_opposite_verbs_name_each_other(verb: Verb) -> None:
    other = verb_of(f"{verb.noun or verb.kind}.{verb.undone_by}")
    assert other.kind == verb.kind and other.undone_by == verb.name
    assert verb.undo_words("x", ()) == (*other.subcommand, "x")


def test_what_was_before_is_set_again_by_the_same_verb() -> None:
    assert verb_of("pool.scale").undo_words("h100", ("--to", "4")) == (
        *("cockpit", "pool", "scale", "h100"),
        *("--to", "4"),
    )
    assert verb_of("job.kill").undo_words("x", ()) == ()


def entry(audit_id: str, step: str, **fields: Any) -> Entry:
    return Entry(audit_id=audit_id, step=step, at_seconds=1.0, verb="v", target="t", **fields)


def test_an_action_is_told_once_by_its_last_line_and_undone_where_it_is_done() -> None:
    lines = [
        entry("a", "intent", undo="back"),
        entry("b", "intent", undo="back"),
        entry("a", "outcome", undo="back", state="done", user="ann", acts_as="bob"),
        entry("c", "outcome", undo="back", state="refused", local_user="ann@host"),
    ]
    found = [(one.audit_id, one.state, one.undo, one.who) for one in actions_of(lines)]
    assert found == [
        ("b", "", "", ""),
        ("a", "done", "back", "ann as bob"),
        ("c", "refused", "", "ann@host"),
    ]
