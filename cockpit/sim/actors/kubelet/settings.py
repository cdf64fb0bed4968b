"""What a container is given: its environment and the files of its volumes, from the API's objects.

Sources: Kubernetes 1.36 pkg/kubelet/kubelet_pods.go (makeEnvironmentVariables), third_party/forked/golang/
expansion (`$(NAME)`), pkg/volume/{configmap,secret,downwardapi,projected}.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from cockpit.k8s.quantity import millicores, whole
from cockpit.kube.resource import Resource
from cockpit.sim.port import Port, PortError, Tree
from cockpit.sim.resources import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, SECRETS

_REFERENCE = re.compile(r"\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)|\$\$")
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class ConfigMissing(Exception):
    """CreateContainerConfigError: an object or a key that the environment names is not there."""


class MountFailed(Exception):
    """FailedMount: an object or a key that a volume names is not there."""


def expand(text: str, known: Mapping[str, str]) -> str:
    """`$(NAME)` replaced where the name is known, `$$` by `$`, as in env, command and args."""

    def _one(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return "$"
        return known.get(name, match.group(0))

    return _REFERENCE.sub(_one, text)


class DownwardContext(msgspec.Struct, frozen=True):
    """What the downward API can tell besides the pod itself."""

    address: str = ""
    host: str = ""
    node_capacity: Mapping[str, str] = {}


async def environment(port: Port, pod: Tree, container: Tree, around: DownwardContext) -> dict[str, str]:
    """Environment of a container. Raises ConfigMissing with the sentence of the container's status."""
    namespace = pod["metadata"].get("namespace", "")
    found: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        found.update(await _env_from(port, namespace, source))
    for entry in container.get("env", ()):
        name = entry["name"]
        value_from = entry.get("valueFrom")
        if not value_from:
            found[name] = expand(str(entry.get("value", "")), found)
            continue
        value = await _value(port, pod, container, value_from, around)
        if value is not None:
            found[name] = value
    return found


async def volume_files(
    port: Port, pod: Tree, *, address: str = "", host: str = ""
) -> dict[str, dict[str, bytes]]:
    """Files of the pod's configMap, secret, downwardAPI and projected volumes: volume, path, content.

    Raises MountFailed with the kubelet's sentence.
    """
    found: dict[str, dict[str, bytes]] = {}
    for volume in pod["spec"].get("volumes", ()):
        name = volume["name"]
        sources = (volume.get("projected") or {}).get("sources") or [volume]
        files: dict[str, bytes] = {}
        try:
            for source in sources:
                files.update(await _files(port, pod, source, address, host))
        except ConfigMissing as missing:
            raise MountFailed(f'MountVolume.SetUp failed for volume "{name}" : {missing}') from None
        if files:
            found[name] = files
    return found


async def claim_uids(port: Port, pod: Tree) -> dict[str, str]:
    """The uid of each PersistentVolumeClaim of the pod, by its volume.

    One that is not there has none: who schedules sees to that, and a pod that is bound may outlive its claim.
    """
    namespace = pod["metadata"].get("namespace", "")
    found: dict[str, str] = {}
    for volume in pod["spec"].get("volumes", ()):
        if "persistentVolumeClaim" not in volume:
            continue
        name = volume["persistentVolumeClaim"]["claimName"]
        try:
            claim = await port.get(PERSISTENT_VOLUME_CLAIMS, namespace, name)
        except PortError as error:
            if not error.is_gone:
                raise
            continue
        found[volume["name"]] = str(claim["metadata"]["uid"])
    return found


async def _object(
    port: Port, resource: Resource, namespace: str, name: str, *, optional: bool
) -> Tree | None:
    try:
        return await port.get(resource, namespace, name)
    except PortError as error:
        if not error.is_gone:
            raise
        if optional:
            return None
        word = "configmap" if resource is CONFIG_MAPS else "secret"
        raise ConfigMissing(f'{word} "{name}" not found') from None


def _data(resource: Resource, tree: Tree | None) -> dict[str, bytes]:
    if tree is None:
        return {}
    data = tree.get("data") or {}
    if resource is SECRETS:
        found = {key: base64.b64decode(value) for key, value in data.items()}
        return found | {key: value.encode() for key, value in (tree.get("stringData") or {}).items()}
    found = {key: str(value).encode() for key, value in data.items()}
    return found | {key: base64.b64decode(value) for key, value in (tree.get("binaryData") or {}).items()}


async def _env_from(port: Port, namespace: str, source: Tree) -> dict[str, str]:
    prefix = source.get("prefix", "")
    for field, resource in (("configMapRef", CONFIG_MAPS), ("secretRef", SECRETS)):
        if field in source:
            reference = source[field]
            optional = bool(reference.get("optional"))
            tree = await _object(port, resource, namespace, reference["name"], optional=optional)
            return {
                prefix + key: value.decode("utf-8", "replace") for key, value in _data(resource, tree).items()
            }
    return {}


async def _value(port: Port, pod: Tree, container: Tree, source: Tree, around: DownwardContext) -> str | None:
    if "fieldRef" in source:
        return field_value(pod, source["fieldRef"].get("fieldPath", ""), around.address, around.host)
    if "resourceFieldRef" in source:
        return resource_value(container, source["resourceFieldRef"], around.node_capacity)
    for field, resource, word in (
        ("configMapKeyRef", CONFIG_MAPS, "ConfigMap"),
        ("secretKeyRef", SECRETS, "Secret"),
    ):
        if field in source:
            reference = source[field]
            namespace, name, key = pod["metadata"].get("namespace", ""), reference["name"], reference["key"]
            optional = bool(reference.get("optional"))
            data = _data(resource, await _object(port, resource, namespace, name, optional=optional))
            if key in data:
                return data[key].decode("utf-8", "replace")
            if optional:
                return None
            raise ConfigMissing(f"couldn't find key {key} in {word} {namespace}/{name}")
    return None


def field_value(pod: Tree, path: str, address: str, host: str) -> str:
    """The downward API's `fieldRef`."""
    metadata, spec = pod["metadata"], pod["spec"]
    known = {
        "metadata.name": metadata.get("name", ""),
        "metadata.namespace": metadata.get("namespace", ""),
        "metadata.uid": metadata.get("uid", ""),
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", "default"),
        "status.hostIP": host,
        "status.hostIPs": host,
        "status.podIP": address,
        "status.podIPs": address,
    }
    if path in known:
        return str(known[path])
    single = _SUBSCRIPT.fullmatch(path)
    if single is not None:
        return str((metadata.get(single.group(1)) or {}).get(single.group(2), ""))
    if path in ("metadata.labels", "metadata.annotations"):
        pairs = metadata.get(path.removeprefix("metadata.")) or {}
        return "\n".join(f'{key}="{_quoted(str(pairs[key]))}"' for key in sorted(pairs))
    return ""


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resource_value(container: Tree, reference: Tree, node_capacity: Mapping[str, str]) -> str:
    """The downward API's `resourceFieldRef`: a limit or request divided by its divisor, rounded up."""
    section, _, resource = str(reference.get("resource", "")).partition(".")
    resources = container.get("resources") or {}
    text = (resources.get(section) or {}).get(resource) or node_capacity.get(resource, "0")
    divisor = str(reference.get("divisor") or "1")
    if divisor in ("0", ""):
        divisor = "1"
    amount = (
        millicores(str(text)) / max(1, millicores(divisor))
        if resource == "cpu"
        else (whole(str(text)) / max(1, whole(divisor)))
    )
    return str(int(-(-amount // 1)))


Files = dict[str, bytes]


async def _files(port: Port, pod: Tree, source: Tree, address: str, host: str) -> Files:
    namespace = pod["metadata"].get("namespace", "")
    for field, resource, key_field in (
        ("configMap", CONFIG_MAPS, "name"),
        ("secret", SECRETS, "secretName"),
    ):
        if field in source:
            wanted = source[field]
            name = wanted.get(key_field) or wanted.get("name", "")
            optional = bool(wanted.get("optional"))
            data = _data(resource, await _object(port, resource, namespace, name, optional=optional))
            return _picked(data, wanted.get("items") or (), field, optional=optional)
    if "downwardAPI" in source:
        items = source["downwardAPI"].get("items") or ()
        return {
            item["path"]: field_value(pod, item["fieldRef"]["fieldPath"], address, host).encode()
            for item in items
            if "fieldRef" in item
        }
    return {}


def _picked(data: Files, items: Any, field: str, *, optional: bool) -> Files:
    if not items:
        return data
    picked: Files = {}
    for item in items:
        if item["key"] in data:
            picked[item["path"]] = data[item["key"]]
        elif not optional:
            word = "config" if field == "configMap" else "secret"
            raise ConfigMissing(f"references non-existent {word} key: {item['key']}")
    return picked
