"""The scheduler's sentences, as the real programs write them, in plain words."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.gangs.scheduler import is_consequence, parse, plain

NO_VICTIMS = "preemption: 0/40 nodes are available: 37 No preemption victims found for incoming pod."

SENTENCES = tomllib.loads(Path(__file__).with_name("scheduler_sentences.toml").read_text())["sentences"]


@pytest.mark.parametrize(("message", "words"), SENTENCES)
def test_sentences_in_plain_words(message: str, words: str) -> None:
    assert plain(message, gpus=8) == words


def test_what_no_table_knows_is_shown_as_it_is() -> None:
    assert plain("the moon is in the wrong phase") == "the moon is in the wrong phase"
    assert (
        plain("0/2 nodes are available: 2 node(s) fell asleep.")
        == "no node takes it: all 2 nodes fell asleep"
    )
    assert plain("") == "" == plain("  \n ")
    long = "x" * 300
    assert plain(long).endswith("…") and len(plain(long)) == 100


def test_what_does_not_fit_is_counted() -> None:
    message = (
        "0/50 nodes are available: 20 Insufficient nvidia.com/gpu, 12 node(s) didn't match Pod's node "
        "affinity/selector, 9 node(s) had untolerated taint {a: b}, 5 Insufficient memory, 4 Too many pods."
    )
    said = plain(message, gpus=8)
    assert said.startswith("needs 8 GPUs on one node: 20 nodes lack free GPUs, ")
    assert said.endswith("more") and len(said) <= 100


def test_one_gpu_and_none() -> None:
    message = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    assert plain(message, gpus=1) == "needs 1 GPU: all 2 nodes lack free GPUs"
    assert plain(message) == "no node takes it: all 2 nodes lack free GPUs"


def test_parts_numbers_and_tail() -> None:
    text = parse(
        "0/40 nodes are available: 37 Insufficient nvidia.com/gpu, 3 node(s) were "
        f"unschedulable. {NO_VICTIMS}"
    )
    assert text.nodes == 40
    assert text.parts == ((37, "Insufficient nvidia.com/gpu"), (3, "node(s) were unschedulable"))
    assert text.preemption.startswith("0/40 nodes")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("0/1 nodes are available: 1 optimistic rejection in PostFilter.", True),
        ("0/3 nodes are available: podGroup gang/pg4 failed recently.", True),
        ("waiting for minCount pods from a gang to appear in scheduling queue", True),
        (SENTENCES[0][0], False),
        (
            "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes "
            "are available: 3 No "
            "preemption victims found for incoming pod., PodGroup gang/pg4 gets rejected due "
            "to Pod rank-3 is "
            "unschedulable even after PostFilter",
            False,
        ),
        ("0/1 nodes are available: 1 PodGroup not found.", True),
        (
            "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or more"
            " plugins asked to wait and no plugin rejected pod",
            True,
        ),
        ("something else", False),
    ],
)
def test_members_that_only_wait_are_told_apart(message: str, expected: bool) -> None:
    assert is_consequence(message) is expected


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=400), st.lists(st.sampled_from([m for m, _ in SENTENCES])).map(" ".join)))
def test_any_text_gives_one_short_line(message: str) -> None:
    said = plain(message, gpus=2)
    assert len(said) <= 100 and "\n" not in said
    assert bool(said) == bool(message.split())
