"""The scheduler's sentences, as the real programs write them, in plain words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.gangs.scheduler import is_consequence, parse, plain

NO_VICTIMS = "preemption: 0/40 nodes are available: 37 No preemption victims found for incoming pod."
UNHELPFUL = "preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling."

SENTENCES = [
    (
        "0/40 nodes are available: 37 Insufficient nvidia.com/gpu, 3 node(s) had "
        f"untolerated taint {{team: b}}. {NO_VICTIMS}",
        "needs 8 GPUs on one node: 37 nodes lack free GPUs, 3 are tainted team",
    ),
    (
        "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        "needs 8 GPUs on one node: all 3 nodes lack free GPUs",
    ),
    (
        "0/1 nodes are available: 1 Insufficient amd.com/gpu.",
        "needs 8 GPUs on one node: 1 node lacks free GPUs",
    ),
    (
        "0/2 nodes are available: 2 Insufficient nvidia.com/mig-1g.10gb.",
        "needs 8 GPUs on one node: all 2 nodes lack free MIG 1g.10gb",
    ),
    (
        "0/9 nodes are available: 2 Insufficient cpu, 5 Insufficient memory, 9 Insufficient nvidia.com/gpu.",
        "needs 8 GPUs on one node: all 9 nodes lack free GPUs, 5 lack memory, 2 lack CPU",
    ),
    (
        "0/5 nodes are available: 1 node(s) had untolerated taint(s), 4 node(s) didn't match Pod's node "
        "affinity/selector. no new claims to deallocate, preemption: 0/5 nodes are "
        "available: 5 Preemption is not "
        "helpful for scheduling.",
        "needs 8 GPUs on one node: 4 nodes are ruled out by the node selector, 1 is tainted",
    ),
    (
        "0/4 nodes are available: 1 node(s) were unschedulable, 3 node(s) had untolerated taint "
        "{node.kubernetes.io/not-ready: }.",
        "needs 8 GPUs on one node: 3 nodes are not ready, 1 is cordoned",
    ),
    (
        "0/4 nodes are available: 4 node(s) had taint {dedicated: infra}, that the pod didn't tolerate.",
        "needs 8 GPUs on one node: all 4 nodes are tainted dedicated",
    ),
    (
        "0/4 nodes are available: 4 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }.",
        "needs 8 GPUs on one node: all 4 nodes are under disk pressure",
    ),
    ("0/4 nodes are available: 4 Too many pods.", "needs 8 GPUs on one node: all 4 nodes are full of pods"),
    (
        "0/4 nodes are available: 4 node(s) didn't match pod anti-affinity rules.",
        "needs 8 GPUs on one node: all 4 nodes are kept free by anti-affinity",
    ),
    (
        "0/4 nodes are available: 4 node(s) didn't match pod topology spread constraints "
        "(missing required label).",
        "needs 8 GPUs on one node: all 4 nodes would break the topology spread",
    ),
    (
        "0/4 nodes are available: 4 node(s) had volume node affinity conflict.",
        "needs 8 GPUs on one node: all 4 nodes cannot reach its volume",
    ),
    (
        "0/4 nodes are unavailable: 4 node(s) pod number exceeded.",
        "needs 8 GPUs on one node: all 4 nodes are full of pods",
    ),
    (
        "0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
        "its volume claim is not bound yet",
    ),
    (
        '0/4 nodes are available: persistentvolumeclaim "data" not found.',
        "volume claim data does not exist",
    ),
    ("no nodes available to schedule pods", "the cluster has no node at all"),
    ("Scheduling is blocked due to non-empty scheduling gates", "held by a scheduling gate"),
    (
        "0/6 nodes are available: pre-filter pod rank-2 cannot find enough sibling pods, "
        "current pods number: 3, "
        f"minMember of group: 4. {UNHELPFUL}, PodGroup gang/pg5 gets rejected due to Pod "
        "rank-2 is unschedulable "
        "even after PostFilter",
        "its group has 3 of 4 pods",
    ),
    (
        f"0/3 nodes are available: podGroup gang/pg4 failed recently. {UNHELPFUL}, "
        "PodGroup gang/pg4 gets rejected "
        "due to Pod rank-0 is unschedulable even after PostFilter",
        "its group gang/pg4 failed and waits to be tried again",
    ),
    (
        f"0/6 nodes are available: resource gap: map[nvidia.com/gpu:{{{{6 0}} {{<nil>}}  "
        f"DecimalSI}}]. {UNHELPFUL}",
        "its group asks for 6 nvidia.com/gpu more than is free",
    ),
    ("0/1 nodes are available: 1 PodGroup not found.", "its pod group does not exist"),
    (
        "0/1 nodes are available: 1 optimistic rejection in PostFilter.",
        "its group cannot be placed as a whole",
    ),
    (
        "minCount (4) cannot be satisfied: 3 scheduled, 1 remaining",
        "its group needs 4 pods placed: 3 are, 1 find no node",
    ),
    (
        'waiting for pod\'s pod group "llm" to appear in scheduling queue',
        "its pod group llm does not exist yet",
    ),
    (
        "Failed to schedule pod, all available instance types exceed limits for nodepool (NodePool=gpu-pool)",
        "node pool gpu-pool is at its limit",
    ),
    (
        "Failed to schedule pod, incompatible requirements, key pool, pool In [nosuch] "
        "not in pool In [elastic]",
        "no node pool has pool=nosuch",
    ),
    ("Pod should schedule on: nodeclaim/gpu-pool-2fpk2", "waits for nodeclaim/gpu-pool-2fpk2 to join"),
    (
        "pod didn't trigger scale-up: 2 max node group size reached",
        "no scale-up: its pool is at its maximum",
    ),
    ("0/4 nodes are available: cannot allocate all claims.", "no node can serve all its device claims"),
    (
        "request gpu: device class gpu.nvidia.com does not exist",
        "device class gpu.nvidia.com does not exist: is the driver installed?",
    ),
    (
        "3/4 tasks in gang unschedulable: pod group is not ready, 4 Pending, 4 "
        "minAvailable; Pending: 3 Unschedulable",
        "3 of 4 pods of its group find no node",
    ),
]


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
