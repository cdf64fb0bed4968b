"""Each situation of pools beside their real owners is told right on every side, whatever the pool is called
and whatever is wrong with its neighbours. `python -m tests.triage.test_owner_rows` writes the page."""

from functools import partial
from pathlib import Path

import pytest

from tests.triage import owner_rows as made
from tests.triage.owner_objects import Tree, capi_nodes, deployment, event, node, pod
from tests.triage.owner_rows import Row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pool-owners.md"
STOCKOUT = "stockout"
ROWS = (
    Row(
        "at-zero",
        "groups at 0 nodes, of which no object tells",
        "lists them in its status",
        made.at_zero,
        {
            "row {p}": ("now=0/4", "target=0"),
            "page {p}": ("owner the cluster autoscaler · 0 nodes, maximum 4",),
        },
    ),
    Row(
        "target-of-a-group",
        "a group without an object is to grow",
        "has a target of 2 in its status",
        made.growing,
        {"row {p}": ("target=2", "joining=2"), "json {p}": ("'target': 2",), "page {p}": ("0→2",)},
    ),
    Row(
        "target-at-rest",
        "a group without an object has what it wants",
        "has a target of 2 and counts 2 nodes",
        made.at_rest,
        {"row {p}": ("target=2", "joining=0"), "json {p}": ("'target': 2", "'nodes_joining': 0")},
    ),
    Row(
        "too-large",
        "12 GPUs are asked for on one node, no group has that many",
        "refuses: one group is full, two have too few GPUs",
        made.too_large,
        {
            "why pod big": (
                "needs 12 GPUs on one node, no node has more than 4",
                "Ask for fewer GPUs on one node",
            )
        },
        {"why pod big": ("maximum", "Wait,"), "now": ("at its maximum",)},
    ),
    Row(
        "selects-none",
        "a pod selects what no group has",
        "refuses: two groups do not match, one is full",
        made.selects_none,
        {"why pod big": ("no node has label ca-pool=nope", "Correct the selector")},
        {"why pod big": ("maximum. ", "Raise the pool")},
    ),
    Row(
        "stockout-healed",
        "a stockout, then the group was made larger",
        "had its cloud take the new size 2 min ago",
        made.healed,
        {"page {p}": ("1→2", "1 joining"), "why pool {p}": ("1 machine is on its way",)},
        {"page {p}": ("✗",), "why pool {p}": ("in trouble",), "now": (STOCKOUT,)},
    ),
    Row(
        "stockout-healed-and-joined",
        "the same once the node is Ready",
        "counts the node",
        made.joined,
        {"page {p}": ("2 nodes",), "why pool {p}": ("nothing is wrong with it",)},
        {"page {p}": ("✗",)},
    ),
    Row(
        "unneeded",
        "a node that it calls unneeded",
        "takes it after what its flag says; its pod is not seen here",
        made.unneeded,
        {"why node {p}-a": ("unneeded to the cluster autoscaler", "--scale-down-unneeded-time", "for 2m10s")},
        {"why node {p}-a": (" left",)},
    ),
    Row(
        "unneeded-by-flags",
        "the same, its flags read",
        "was started with 3 min, 50 s left",
        made.unneeded_by_flags,
        {
            "why node {p}-a": ("removed after 3 min", "for 2m10s, 50s left"),
            "page {p}": ("scale-down: the cluster autoscaler removes nodes after 3m with fewer than 50 %",),
        },
    ),
    Row(
        "empty-node-removed",
        "an empty node was taken away",
        "tells it twice, before and after",
        made.removed,
        {"page {p}": ("ScaleDownEmpty: empty node {p}-qwert removed",), "row {p}": ("joining=0",)},
    ),
    Row(
        "maximum-is-the-providers",
        "a full group whose maximum no object here holds",
        "keeps the maximum at the provider",
        made.full,
        {
            "ask {p} 1": ("above its maximum of 1: it cannot be raised from here",),
            "limit {p} 5": ("cannot be changed from here",),
            "scale {p} 3": ("1 + 2 nodes are above its maximum of 1: it cannot be raised from here",),
        },
        {"ask {p} 1": ("raise it first",), "scale {p} 3": ("cockpit pool ask",)},
    ),
    Row(
        "buffer-unanswered",
        "a CapacityBuffer, and an autoscaler without the flag for it",
        "never answers",
        made.buffered,
        {
            "page {p}": ("1 node by ann@h", "no autoscaler has answered it yet"),
            "ask {p} 1": ("only an autoscaler that has CapacityBuffers switched on heeds it",),
        },
        {"page {p}": ("growing it", "1→2")},
    ),
    Row(
        "used-and-free-again",
        "a node whose job has ended",
        "ran it for 4 min",
        made.unused,
        {"page {p}": ("ready, nothing runs on it now",)},
        {"page {p}": ("nothing runs on it yet",)},
    ),
    Row(
        "asked-at-zero-without-labels",
        "nodes are asked for of a pool at 0 whose labels are not known",
        "would never add a node for such a pod",
        partial(made.capi, size=0, told=False),
        {"ask {p} 1": ("no label tells its nodes from others",)},
    ),
    Row(
        "asked-at-zero",
        "the same where annotations tell labels and GPUs",
        "grows it",
        partial(made.capi, size=0),
        {"ask {p} 1": ("+ 1 node x 4 GPUs", "1 placeholder pod of 4 GPUs")},
    ),
    Row(
        "asked-with-nodes",
        "nodes are asked for, and only its nodes tell the label",
        "makes the next like these",
        partial(made.capi, size=2, told=False),
        {"ask {p} 1": ("Ask the cluster autoscaler for 1 node more",)},
        {"ask {p} 1": ("no label",)},
    ),
    Row(
        "waits-for-a-pool-at-zero",
        "a pod that selects a pool at 0",
        "grew it 10 s later",
        made.waits_at_zero,
        {"why pod big": ("pool {p}, at 0 nodes, may bring one",), "row {p}": ("wanted=+4",)},
        {"why pod big": ("Correct the selector",)},
    ),
    Row(
        "waits-for-a-pool-at-zero-without-labels",
        "the same where nothing tells the labels of its nodes",
        "grew it 10 s later",
        partial(made.waits_at_zero, told=False),
        {"why pod big": ("pool {p}, at 0 nodes, may bring one",), "row {p}": ("wanted=+4",)},
        {"why pod big": ("Correct the selector",)},
    ),
    Row(
        "waits-for-a-pool-sized-by-hand",
        "the same of a pool that nothing scales",
        "does nothing",
        partial(made.waits_at_zero, told=False, bounds=False),
        {
            "why pod big": ("pool {p}, at 0 nodes, would take it", "Add a node to pool {p}"),
            "row {p}": ("wanted=+4",),
        },
        {"why pod big": ("Correct the selector",)},
    ),
    Row(
        "taint-of-a-pool-at-zero",
        "a taint that the pod does not tolerate",
        "refuses: one untolerated taint, two groups are full",
        made.tainted,
        {"why pod big": ("pool {p}, at 0 nodes, has taint team, not tolerated",), "row {p}": ("wanted=0",)},
        {"why pod big": ("at its maximum",), "page {p}": ("only it can serve",)},
    ),
    Row(
        "rollout",
        "nodes of a pool that is being rolled out",
        "takes none of them away",
        made.rolling,
        {"why node {p}-nlp9v-x000": ("is being rolled out",), "page {p}": ("is being rolled out",)},
    ),
    Row(
        "name-of-the-pool",
        "a node that its MachineSet made",
        "names the MachineDeployment",
        partial(made.capi, size=1),
        {"nodes": ("pool={p} ",)},
        {"nodes": ("pool={p}-nlp9v",)},
    ),
    Row(
        "growth-without-gpus",
        "40 nodes that came just now without GPUs",
        "has 40 nodes that are Ready",
        made.dark,
        {"row {p}": ("ready=43/43", "joining=40", "dark=40"), "page {p}": ("40 joining (without GPUs yet)",)},
        {"page {p}": ("never came",)},
    ),
    Row(
        "gpus-never-came",
        "the same after an hour",
        "has 40 nodes that are Ready",
        made.never_lit,
        {"page {p}": ("GPUs of 40 nodes never came",), "why pool {p}": ("GPU",)},
        {"page {p}": ("GPU driver is being installed", "40 joining")},
    ),
    Row(
        "all-without-gpus",
        "a full pool none of whose nodes shows its GPUs yet",
        "has 2 of 2 nodes",
        made.all_dark,
        {
            "page {p}": ("4 x GPU", "GPUs up 0/2", "2 joining (without GPUs yet)"),
            "why pool {p}": ("1 pod waits for it (4 GPUs); 2 machines are on their way",),
            "why pod big": ("waits for the GPU driver on 2 new nodes",),
        },
        {"why pool {p}": ("Raise the pool's maximum",), "page {p}": ("nothing runs on it now",)},
    ),
    Row(
        "budget-over-a-full-node",
        "a disruption budget lets no pod go",
        "Karpenter leaves the node",
        made.budgeted,
        {
            "why node kn-1": ("budget team-a/keep lets no pod go",),
            "page {p}": ("budget team-a/keep lets no pod go",),
        },
        {"why node kn-1": ("may remove it",)},
    ),
    Row(
        "budgets-unread",
        "the same where budgets may not be read",
        "Karpenter may hold the node, or not",
        made.unread,
        {
            "why node kn-1": ("the disruption budgets of its pods are not read",),
            "page {p}": ("are not read",),
        },
        {"why node kn-1": ("due now",)},
    ),
    Row(
        "demand-for-a-pool-at-zero",
        "three pods select a NodePool without nodes",
        "Karpenter makes claims 4 s later",
        made.wanted,
        {"page {p}": ("12 GPUs that only it can serve",), "row {p}": ("wanted=+12", "joining=0")},
        {"page {p}": ("no pod waits",)},
    ),
    Row(
        "claim-on-its-way",
        "the same with its first NodeClaim",
        "Karpenter asks the cloud",
        made.coming,
        {
            "row {p}": ("joining=1",),
            "page {p}": ("1 joining", "machine requested"),
            "why pool {p}": ("1 machine is on its way",),
        },
        {"why pool {p}": ("no machine is on its way",)},
    ),
    Row(
        "do-not-disrupt-taken-away",
        "an annotation that held a node is gone since 20 s",
        "Karpenter may take the node again",
        made.unheld,
        {"why node kn-1": ("Karpenter may remove it",)},
        {"why node kn-1": ("do-not-disrupt",), "page {p}": ("do-not-disrupt",)},
    ),
    Row(
        "autoscaler-stopped",
        "the autoscaler has not written its status for 15 min",
        "nothing",
        made.stopped,
        {
            "now": ("the cluster autoscaler does not work", "the autoscaler of pool {p} does"),
            "why pod w0": ("the autoscaler of pool {p} does not work", "look at its pod and its log"),
            "why pool {p}": ("the cluster autoscaler does not work", "look at its pod and its log"),
            "page {p}": ("✗ no autoscaler, 15m",),
            "ask {p} 1": ("the cluster autoscaler does not work",),
            "scale {p} 2": ("the cluster autoscaler does not work",),
        },
        {"scale {p} 2": ("cockpit pool ask", "raise its maximum"), "why pod w0": ("correct the pod",)},
    ),
    Row(
        "autoscaler-restarted",
        "its status is gone for a while, as a restart has it",
        "works again 12 s later",
        made.restarted,
        {"row {p}": ("the cluster autoscaler controls the size",), "scale {p} 2": ("refused",)},
        {"row {p}": ("resize=S",)},
    ),
    Row(
        "minimum-above-maximum",
        "a minimum of 5 and a maximum of 2",
        "refuses the group",
        made.crossed,
        {
            "page {p}": (
                "✗ invalid bounds",
                "the minimum 5 of MachineDeployment default/{p} is above its maximum 2",
            ),
            "ask {p} 1": ("is above its maximum 2; correct it first",),
            "scale {p} 3": ("correct it first",),
        },
        {"row {p}": ("between 5 and 2",)},
    ),
    Row(
        "bounds-that-are-no-numbers",
        "a maximum of `many`",
        "refuses the annotation",
        made.no_numbers,
        {
            "page {p}": ("✗ invalid bounds", "is 'many', no whole number"),
            "scale {p} 3": ("no whole number",),
            "why pool {p}": ("no whole number",),
        },
        {"row {p}": ("resize=S",)},
    ),
    Row(
        "paused",
        "a paused MachineDeployment that the autoscaler lists",
        "sets a number that no controller follows",
        made.paused,
        {
            "row {p}": ("MachineDeployment default/{p} is paused",),
            "ask {p} 1": ("is paused (annotation cluster.x-k8s.io/paused)", "unpause it first"),
            "scale {p} 2": ("is paused (annotation cluster.x-k8s.io/paused)",),
        },
        {"row {p}": ("let pending pods trigger it",)},
    ),
    Row(
        "node-deleted-by-hand",
        "a node is deleted, its Machine stays",
        "writes NodeHealthy False",
        made.node_gone,
        {
            "page {p}": ("✗ node deleted, 1m50s", "delete Machine {p}-nlp9v-x001"),
            "why pool {p}": ("node deleted: node {p}-nlp9v-x001 was deleted",),
            "row {p}": ("joining=0",),
        },
        {"page {p}": ("kubelet", "joining", "usually"), "why pool {p}": ("did not grow", "autoscaler")},
    ),
    Row(
        "shrink-of-that-pool",
        "that pool is made smaller",
        "takes the Machine without a node first",
        made.node_gone,
        {"scale {p} 1": ("Shrink pool {p} from 2 to 1", "1 node: not in the cluster, 1 present stay")},
        {"scale {p} 1": ("not all of them are listed", "not there yet")},
    ),
    Row(
        "unknown-among-many",
        "a name that none of 100 pools has",
        "-",
        made.many,
        {"ask nosuch 1": ("there is no pool 'nosuch'; known pools: ", " more")},
    ),
    Row(
        "schemes-of-providers",
        "nodes by the labels of many providers, and some by none",
        "-",
        made.schemes,
        {
            "row {p}-eks": ("now=1",),
            "row {p}-gke": ("now=1",),
            "row {p}-cw": ("now=1",),
            "row {p}-oke": ("now=1",),
            "row {p}-ack": ("now=1",),
            "rows": ("g5.12xlarge", "ecs.gn7i-c32g1.8xlarge"),
        },
    ),
    Row(
        "removal-broken-off",
        "a cockpit was killed within the 10 s after a cordon",
        "-",
        made.left,
        {
            "now": ("a removal of it was begun and did not go on; it left a cordon",),
            "why node {p}-nlp9v-x000": ("a removal of it was begun and did not go on", "Uncordon it"),
            "why pool {p}": ("a removal of it was begun and did not go on",),
        },
    ),
    Row(
        "removal-broken-off-after-the-taint",
        "the same after taint and mark",
        "counts the node",
        made.left_with_taint,
        {
            "now": ("it left a cordon, a taint, a mark on its machine",),
            "why node {p}-nlp9v-x000": ("it left a cordon, a taint, a mark on its machine",),
            "why pool {p}": ("a removal of it was begun and did not go on",),
            "row {p}": ("joining=0",),
        },
        {"page {p}": ("more asked for",)},
    ),
)


def neighbours() -> list[Tree]:
    """A pool that nobody scales, full and with a node that is not Ready, and a pod that was refused."""
    nodes = [
        *capi_nodes("zebra", 1),
        pod("z-holds", on="zebra-nlp9v-x000"),
        node("z-sick", 4, {"agentpool": "zed"}, ready="False"),
    ]
    said = "pod didn't trigger scale-up: 3 max node group size reached, 1 in backoff after failed scale-up"
    waits = pod("z-waits", nodeSelector={"ca-pool": "zebra"})
    return [*nodes, deployment("zebra", 1), waits, event("Pod", "z-waits", "NotTriggerScaleUp", said)]


@pytest.mark.parametrize("name", ["t4", "eu-gpu-7b"])
@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "beside-others"])
@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_a_situation_is_told_right_on_every_side(row: Row, name: str, *, is_alone: bool) -> None:
    world = row.made(name, *(() if is_alone else neighbours()))
    for side, words in row.says.items():
        said = world.says(side.format(p=name))
        for word in words:
            assert word.format(p=name) in said, f"{side}: {said}"
    for side, words in row.never.items():
        said = world.says(side.format(p=name))
        for word in words:
            assert word.format(p=name) not in said, f"{side}: {said}"


def page() -> str:
    """docs/pool-owners.md."""
    head = (
        "# Pools beside their owners",
        "",
        "Situations that the real cluster-autoscaler 1.37 and Karpenter 1.14 made, what they did, and",
        "what is said of it: each is a test of every side (list, page, *why*, command). Made by",
        "`python -m tests.triage.test_owner_rows`; a test compares.",
        "",
        "| situation | what its owner does | where | what is said |",
        "| --- | --- | --- | --- |",
    )
    lines = [_line(row) for row in ROWS]
    return "\n".join((*head, *lines)) + "\n"


def _line(row: Row) -> str:
    side, words = next(iter(row.says.items()))
    told = "; ".join(words).format(p="t4").replace("|", "\\|")
    return f"| {row.situation} | {row.did} | `{side.format(p='t4')}` | {told} |"


def test_the_page_is_of_these_rows() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tests.triage.test_owner_rows, commit the page"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
