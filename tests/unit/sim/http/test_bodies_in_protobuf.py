"""Bodies in Kubernetes' protobuf, as kubectl sends them, are the trees that they stand for."""

from hypothesis import given
from hypothesis import strategies as st

from cockpit.kube.proto import core_pb2
from cockpit.sim.server.http.wire.decode import MAGIC, BadProtobuf, decoded


def _field(number: int, data: bytes) -> bytes:
    assert len(data) < 1 << 14
    size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 0x7F | 0x80, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data


def _enveloped(version: str, kind: str, raw: bytes) -> bytes:
    head = _field(1, version.encode()) + _field(2, kind.encode())
    return MAGIC + _field(1, head) + _field(2, raw)


def test_a_pod_by_another_encoder() -> None:
    """The cockpit's own messages are compiled by protoc: an encoder that knows nothing of this decoder."""
    pod = core_pb2.Pod()
    pod.metadata.name = "p"
    pod.metadata.labels["team"] = "a"
    pod.metadata.creation_timestamp.seconds = 1_790_000_000
    pod.spec.node_name = "gpu-1"
    container = pod.spec.containers.add()
    container.name = "main"
    container.resources.limits["nvidia.com/gpu"].string = "8"
    pod.status.phase = "Running"
    tree = decoded(_enveloped("v1", "Pod", pod.SerializeToString()))
    assert (tree["apiVersion"], tree["kind"]) == ("v1", "Pod")
    assert tree["metadata"] == {
        "name": "p",
        "labels": {"team": "a"},
        "creationTimestamp": "2026-09-21T14:13:20Z",
    }
    assert tree["spec"]["nodeName"] == "gpu-1"
    assert tree["spec"]["containers"] == [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]
    assert tree["status"] == {"phase": "Running"}


def test_what_is_embedded_in_go_stands_one_level_higher() -> None:
    claim = _field(10, _field(1, b"data"))
    volume = _field(1, b"v") + _field(2, claim)
    probe = _field(1, _field(1, _field(1, b"true"))) + bytes([2 << 3, 7])
    container = _field(1, b"main") + _field(10, probe)
    spec = _field(1, volume) + _field(2, container)
    tree = decoded(_enveloped("v1", "Pod", _field(2, spec)))
    assert tree["spec"]["volumes"] == [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    assert tree["spec"]["containers"][0]["livenessProbe"] == {
        "exec": {"command": ["true"]},
        "initialDelaySeconds": 7,
    }


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_are_refused(raw: bytes) -> None:
    try:
        tree = decoded(_enveloped("v1", "Pod", raw))
    except BadProtobuf:
        return
    assert tree["kind"] == "Pod"
