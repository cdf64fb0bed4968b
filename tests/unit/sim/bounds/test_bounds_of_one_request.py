"""What a few bytes may unfold to: copies, aliases, defaults, depth, and the objects that are kept."""

import json
from random import Random
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.k8s.quantity import canonical, quantity
from cockpit.sim.port import PatchType, PortError, Tree
from cockpit.sim.resources import CONFIG_MAPS
from cockpit.sim.server import limits
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.http.bodies import object_of, patch_of
from cockpit.sim.server.limits import METER, MOST_DEPTH, remembered, shortened, weight_of
from cockpit.sim.server.names import label_value_faults
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.patch.json_patch import json_patch
from cockpit.sim.server.request import ListOptions, Request, User, WatchOptions
from cockpit.sim.server.schema.doubles import duplicates
from cockpit.sim.server.schema.pruning import defaulted, pruned
from tests.unit.sim.bounds.limited import output_of

SOMEBODY = User("somebody", ("system:masters",))

DOUBLING = """
from cockpit.sim.port import PortError
from cockpit.sim.server.patch.json_patch import json_patch
deep = {DEEP}
ops, path = [], "/a"
for at in range(40):
    path += "/b" if deep else ""
    ops.append({{"op": "copy", "from": "/a", "path": path if deep else f"/a/c{{at}}"}})
try:
    json_patch({{"a": {{"b": {{"x": "y" * 1000}}}}}}, ops)
    print("done")
except PortError as refusal:
    print(refusal.status, refusal.reason)
"""


@pytest.mark.parametrize(
    ("deep", "told"), [(False, "413 RequestEntityTooLarge"), (True, "400 BadRequest")], ids=["wide", "deep"]
)
def test_forty_copies_of_copies_are_refused(deep: bool, told: str) -> None:
    assert output_of(DOUBLING.format(DEEP=deep)) == told


def test_copies_up_to_the_bound_are_made() -> None:
    # 3 MiB is the limit of what copies add; as with the real server, the text of the JSON counts
    value = {"x": "y" * (1 << 20)}
    done = json_patch({"a": value}, [{"op": "copy", "from": "/a", "path": f"/b{at}"} for at in range(2)])
    assert done["b1"] == value


def test_a_copy_is_a_tree_of_its_own() -> None:
    ops: list[Tree] = [
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/b/x", "value": 2},
        {"op": "add", "path": "/a/y", "value": 3},
    ]
    given: Tree = {"a": {"x": 1}}
    assert json_patch(given, ops) == {"a": {"x": 1, "y": 3}, "b": {"x": 2}}
    assert given == {"a": {"x": 1}}


def test_ten_thousand_operations_on_a_long_list_copy_it_once() -> None:
    given: Tree = {"a": list(range(100_000))}
    with METER.request():
        done = json_patch(given, [{"op": "add", "path": "/a/-", "value": 0}] * 10_000)
    assert len(done["a"]) == 110_000
    assert len(given["a"]) == 100_000


def test_what_operations_move_is_bounded() -> None:
    ops = [{"op": "add", "path": "/a/0", "value": 0}] * 10_000
    with METER.request(), pytest.raises(PortError) as refusal:
        json_patch({"a": list(range(100_000))}, ops)
    assert refusal.value.status == 413


@pytest.mark.parametrize("count", [MOST_DEPTH + 1, 1500, 100_000])
@pytest.mark.parametrize("kind", ["application/json", "application/yaml"])
def test_a_deep_body_is_a_bad_request(kind: str, count: int) -> None:
    body = b'{"a":' + b"[" * count + b"]" * count + b"}"
    with pytest.raises(PortError) as refusal:
        object_of(body, kind)
    assert (refusal.value.status, refusal.value.reason) == (400, "BadRequest")
    assert "exceeded max depth" in refusal.value.message


@pytest.mark.parametrize("count", [MOST_DEPTH + 1, 100_000])
@pytest.mark.parametrize("kind", list(PatchType))
def test_a_deep_patch_is_a_bad_request(kind: PatchType, count: int) -> None:
    inner = b'{"a":' * count + b"1" + b"}" * count
    body = b'[{"op":"add","path":"/a","value":%b}]' % inner if kind is PatchType.JSON else inner
    with pytest.raises(PortError) as refusal:
        patch_of(body, kind)
    assert refusal.value.status == 400


def test_a_deep_yaml_without_brackets_is_a_bad_request() -> None:
    with pytest.raises(PortError) as refusal:
        object_of(b"- " * 100_000, "application/yaml")
    assert refusal.value.status == 400


LAUGHS = """
from cockpit.sim.port import PortError
from cockpit.sim.server.http.bodies import object_of
lines = ["a0: &a0 [lol, lol]"] + [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, 12)]
try:
    object_of("\\n".join(lines).encode(), "application/yaml")
    print("done")
except PortError as refusal:
    print(refusal.status, "aliases" in refusal.message)
"""


def test_a_billion_laughs_are_a_bad_request() -> None:
    assert output_of(LAUGHS) == "400 True"


def test_keys_and_times_of_yaml_are_texts() -> None:
    told = object_of(b"d: 2026-01-01\nf: yes\n2: a\ntrue: b\n", "application/yaml")
    assert told == {"d": "2026-01-01", "f": True, "2": "a", "true": "b"}


@pytest.mark.parametrize("body", [b"a: &a [*a]", b"a: *b", b"? [a]\n: b", b"a: !!python/none x", b"a: .nan"])
def test_yaml_that_stands_for_no_json_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(PortError) as refusal:
        object_of(body, "application/yaml")
    assert refusal.value.status == 400


def test_a_patch_does_not_nest_what_is_there_deeper_than_a_body_may() -> None:
    tree: Any = {}
    for _ in range(MOST_DEPTH - 1):
        tree = {"a": tree}
    with METER.request(), pytest.raises(PortError) as refusal:
        json_patch({"a": tree}, [{"op": "copy", "from": "/a", "path": "/a" * (MOST_DEPTH - 1)}])
    assert refusal.value.status == 400


def test_defaults_of_a_schema_count_as_copies() -> None:
    item = {"type": "object", "properties": {"a": {"type": "string", "default": "x" * 100_000}}}
    with METER.request(), pytest.raises(PortError) as refusal:
        defaulted([{} for _ in range(1000)], {"type": "array", "items": item})
    assert refusal.value.status == 413


def test_unknown_fields_are_told_up_to_a_hundred_and_by_the_beginning_of_their_paths() -> None:
    tree = {"x" * 1_000_000: {f"k{at}": 1 for at in range(50_000)}}
    kept, dropped = pruned(tree, {"type": "object", "additionalProperties": {"type": "object"}})
    assert kept == {"x" * 1_000_000: {}}
    assert len(dropped) == 100
    assert max(map(len, dropped)) < 2000


def test_doubled_members_are_found_in_linear_time() -> None:
    body = b"{" + b",".join(b'"k%d":1' % (at % 100_000) for at in range(200_000)) + b"}"
    assert len(duplicates(body)) == 100


@pytest.mark.parametrize("text", ["1" * 100_000 + "x", "1e1000000000", "1" * 5000, "." * 100_000])
def test_no_amount_is_worked_out_for_minutes(text: str) -> None:
    for read in (canonical, quantity):
        with pytest.raises(ValueError, match="quantit"):
            read(text)


def test_caches_do_not_keep_long_texts() -> None:
    asked = []

    @remembered(10)
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [length("a"), length("a"), length("b" * 1000), length("b" * 1000)] == [1, 1, 1000, 1000]
    assert len(asked) == 3
    assert label_value_faults("a" * 1_000_000) != []


def test_what_is_told_of_a_long_text_is_its_beginning() -> None:
    assert shortened("a" * 10) == "a" * 10
    assert len(shortened("a" * 100_000)) < 1100


def operations() -> Operations:
    return assemble(ManualClock(), Random(1), has_accounts=False).operations


def asked(name: str = "") -> Request:
    return Request(resource=CONFIG_MAPS, namespace="default", name=name, user=SOMEBODY)


def config_map(name: str, count: int) -> Tree:
    return {"metadata": {"name": name, "annotations": {}}, "data": {"a": "x" * count}}


def test_what_etcd_would_not_take_is_refused_also_step_by_step() -> None:
    server = operations()
    server.create(asked(), config_map("a", 900_000))
    with pytest.raises(PortError) as refusal:
        # a byte of a config map, whose data end at a mebibyte, but six of its JSON
        server.patch(asked("a"), {"data": {"b": "\x01" * 140_000}}, PatchType.MERGE)
    assert (refusal.value.status, refusal.value.message) == (413, "etcdserver: request is too large")


def test_versions_of_large_objects_are_forgotten_before_small_ones() -> None:
    server = operations()
    server.create(asked(), config_map("a", 10))
    begun = server.storage.version
    most = limits.MOST_PAST_BYTES // 900_000 + 5
    for at in range(most):
        server.patch(asked("a"), {"data": {"a": str(at % 10) * 900_000}}, PatchType.MERGE)
    with pytest.raises(PortError) as refusal:
        server.watch(asked(), WatchOptions(version=str(begun)), lambda kind, stored: None)
    assert refusal.value.status == 410
    newest = str(server.storage.version)
    server.watch(asked(), WatchOptions(version=newest), lambda kind, stored: None)()
    assert len(server.list(asked(), ListOptions()).items) == 1


def test_all_objects_together_are_bounded() -> None:
    server = operations()
    data = json.dumps({"a": "x" * 1000}).encode()
    server.storage.weight = limits.MOST_STORED_BYTES - weight_of(data)
    with pytest.raises(PortError) as refusal:
        server.create(asked(), config_map("a", 2000))
    assert refusal.value.status == 507
    server.storage.weight = 0
    server.create(asked(), config_map("a", 2000))
    server.delete(asked("a"))
    assert server.storage.weight < 1000


def test_faults_are_counted_up_to_a_hundred() -> None:
    server = operations()
    tree = {"metadata": {"name": "a", "labels": {f"-{at}": "-" for at in range(5000)}}}
    with pytest.raises(PortError) as refusal:
        server.create(asked(), tree)
    assert refusal.value.status == 422
    assert len(refusal.value.causes) <= 100


def test_peaks_are_kept_and_stay_below_the_bounds() -> None:
    assert METER.peak.bytes <= limits.MOST_UNFOLDED_BYTES
    assert METER.peak.operations <= limits.MOST_OPERATIONS
    assert METER.peak.depth <= limits.MOST_DEPTH
