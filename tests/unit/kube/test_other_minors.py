"""Objects and discovery of Kubernetes 1.28 to 1.37: read in both encodings, and what is not served is told.

`recorded/k8s-api.tar.xz` holds, of each minor, files of k8s.io/api `testdata/HEAD` as its last patch release
published them (Apache 2.0): objects in which that release's own code has set every field, in JSON and in
protobuf, and the names of all kinds. Their enums are words that no release knows (`phaseValue`).
"""

import json
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.decode import decoders
from cockpit.kube.decode.decoders import Decoder
from cockpit.kube.decode.wire import PROTOBUF_WIRE
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch, Phase
from cockpit.model.record import Kind, Record
from cockpit.store.store import Store
from cockpit.views import events, pods
from cockpit.views.view_state import ViewState
from tests.reliability.figures import Tell
from tests.unit.kube.builders import FakeServer, bookmark, event, reply, stream
from tests.unit.kube.test_discovery import aggregated, entry, group
from tests.unit.kube.test_feed import CORE_PATHS, Hearing, feed_of
from tests.unit.views.builders import NOW, line

ARCHIVE = Path(__file__).with_name("recorded") / "k8s-api.tar.xz"
MINORS = tuple(range(28, 38))
DECODERS: dict[str, Decoder] = {
    "core.v1.Pod": decoders.POD,
    "core.v1.Node": decoders.NODE,
    "core.v1.Event": decoders.EVENT,
    "core.v1.Namespace": decoders.NAMESPACE,
    "batch.v1.Job": decoders.JOB,
    "ResourceSlice": decoders.DEVICE_SLICE,
    "ResourceClaim": decoders.DEVICE_CLAIM,
}
FILES = ("core.v1.Node", "core.v1.Pod", "batch.v1.Job", "core.v1.Event", "core.v1.Namespace")
"""In the order of CORE_PATHS."""


@cache
def archive() -> dict[str, bytes]:
    """Every file by its path, `1.28/core.v1.Pod.json`."""
    with tarfile.open(ARCHIVE) as opened:
        files = ((item.name, opened.extractfile(item)) for item in opened)
        return {name: file.read() for name, file in files if file is not None}


def recorded() -> Iterator[tuple[str, Decoder]]:
    """Every object without its ending, and what decodes it."""
    for path in archive():
        name, _, ending = path.rpartition(".")
        if ending == "json":
            kind = name.partition("/")[2]
            yield name, DECODERS.get(kind) or DECODERS[kind.rpartition(".")[2]]


def read(name: str, decoder: Decoder) -> list[Record]:
    """The object's record from JSON, and from protobuf where the kind comes as that."""
    made = [decoder.from_json(archive()[f"{name}.json"])]
    if decoder.from_protobuf is not None:
        told, raw = PROTOBUF_WIRE.event(as_event(archive()[f"{name}.pb"]))
        assert told == "ADDED"
        made.append(decoder.from_protobuf(raw))
    assert None not in made
    return [record for record in made if record is not None]


def as_event(envelope: bytes) -> bytes:
    """The frame of a watch event around an object as it lies in etcd: `k8s\\0` and runtime.Unknown."""
    from cockpit.kube.proto import meta_pb2

    made = meta_pb2.WatchEvent(type="ADDED")
    made.object.raw = envelope
    return made.SerializeToString()


@pytest.mark.row(36, "minors", least=10)
@pytest.mark.row(36, "objects", least=60)
@pytest.mark.row(36, "exceptions", most=0)
def test_objects_of_ten_minors_are_read_in_both_encodings(figure: Tell) -> None:
    failed, objects, minors = [], 0, set()
    for name, decoder in recorded():
        try:
            made = read(name, decoder)
        except Exception as error:  # which ones, all at once
            failed.append((name, repr(error)))
            continue
        objects += len(made)
        minors.add(name.partition("/")[0])
        assert all(record == made[0] for record in made), name
    assert minors == {f"1.{minor}" for minor in MINORS}
    figure("exceptions", len(failed))
    figure("objects", objects)
    figure("minors", len(minors))


@pytest.mark.row(36, "words of unknown enums not shown as they are", most=0)
def test_a_word_that_no_release_knows_is_shown_as_it_is(figure: Tell) -> None:
    hidden = []
    for minor in MINORS:
        store = Store()
        for file, kind in (("core.v1.Pod", Kind.POD), ("core.v1.Event", Kind.EVENT)):
            tree = json.loads(archive()[f"1.{minor}/{file}.json"])
            del tree["metadata"]["deletionTimestamp"]  # or the pod is shown as ending
            store.apply(Batch(kind=kind, changed=(DECODERS[file].from_json(json.dumps(tree).encode()),)))
        pod, told = pods.table(store, ViewState(), NOW), events.table(store, ViewState(), NOW)
        shown = {**line(pod), **line(told)}
        hidden += [word for word in ("phaseValue", "reasonValue") if word not in " ".join(shown.values())]
    figure("words of unknown enums not shown as they are", len(hidden))


UNKNOWN: dict[str, Any] = {"surpriseV2": {"a": [1, {"b": None}]}, "mode": "NeverHeardOf"}


@pytest.mark.row(36, "objects lost by fields that are new", most=0)
def test_fields_that_are_new_cost_nothing(figure: Tell) -> None:
    lost = []
    for name, decoder in recorded():
        tree = json.loads(archive()[f"{name}.json"])
        for part in ("metadata", "spec", "status"):
            if part in tree:
                tree[part] = tree[part] | UNKNOWN
        tree |= UNKNOWN
        if decoder.from_json(json.dumps(tree).encode()) != read(name, decoder)[0]:
            lost.append(name)
    figure("objects lost by fields that are new", len(lost))


# ---- discovery


def served_groups(minor: int) -> list[dict[str, Any]]:
    """What a server of that minor serves by default: every kind but those of alpha versions."""
    found: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for name in archive()[f"1.{minor}/kinds.txt"].decode().split():
        api, version, kind = name.rsplit(".", 2)
        if "alpha" not in version and api != "core":
            found[api][version].append(entry(f"{kind.lower()}s", kind))
    newest = lambda version: ("beta" in version, version)  # noqa: E731 - as the server prefers them
    return [
        group(api, **{version: versions[version] for version in sorted(versions, key=newest)})
        for api, versions in sorted(found.items())
    ]


async def reads_on(minor: int, server: FakeServer, session: ApiSession, clock: ManualClock) -> Hearing:
    """A whole feed on a server of that minor, once its kinds are read and the others are told absent."""
    for path, file in zip(CORE_PATHS, FILES, strict=True):
        tree = json.loads(archive()[f"1.{minor}/{file}.json"])
        server.on(path, stream(event("ADDED", tree), bookmark("9", ends_list=True), stays=True))
    server.on("/version", reply({"major": "1", "minor": str(minor), "gitVersion": f"v1.{minor}.3"}))
    server.on("/api", reply(aggregated(group("", v1=[entry("pods", "Pod")]))))
    groups = served_groups(minor)
    server.on("/apis", reply(aggregated(*groups)))
    devices = next((item for item in groups if item["metadata"]["name"] == "resource.k8s.io"), None)
    for version in devices["versions"] if devices else ():
        for plural in ("resourceslices", "resourceclaims"):
            path = f"/apis/resource.k8s.io/{version['version']}/{plural}"
            server.on(path, stream(bookmark("9", ends_list=True), stays=True))
    hearing = Hearing()
    wanted = 5 + (2 if devices else 0)
    absent = [Kind.MPIJOB, Kind.WORKLOAD, Kind.POOL] + ([] if devices else [Kind.DEVICE_SLICE])
    await hearing.until(
        feed_of(session, hearing, clock).run(),
        lambda: (
            len(hearing.ended()) >= wanted and all(Phase.ABSENT in hearing.phases(kind) for kind in absent)
        ),
    )
    return hearing


@pytest.mark.row(37, "minors whose nodes, pods, jobs, events and namespaces are read", least=6)
@pytest.mark.row(37, "features that are off without a reason", most=0)
async def test_a_feed_reads_ten_minors_and_tells_what_they_do_not_serve(
    server: FakeServer, session: ApiSession, clock: ManualClock, figure: Tell
) -> None:
    good, silent = 0, []
    for minor in MINORS:
        hearing = await reads_on(minor, server, session, clock)
        read_kinds = {batch.kind for batch in hearing.batches if batch.changed}
        good += {Kind.NODE, Kind.POD, Kind.JOB, Kind.EVENT, Kind.NAMESPACE} <= read_kinds
        off = [
            batch.status for batch in hearing.batches if batch.status and batch.status.phase is Phase.ABSENT
        ]
        silent += [status.kind for status in off if not status.message]
        has_devices = minor >= 32
        assert (Kind.DEVICE_SLICE in {status.kind for status in off}) is not has_devices
    figure("minors whose nodes, pods, jobs, events and namespaces are read", good)
    figure("features that are off without a reason", len(silent))
