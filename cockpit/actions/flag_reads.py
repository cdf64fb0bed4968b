"""Reads the command-line flags of pool owners, on demand: they say when nodes are taken away."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cockpit.actions.refusals import withheld
from cockpit.k8s.json_values import mapping, mappings
from cockpit.kube.resource import PODS, Resource
from cockpit.model.autoscaler import OwnerFlags
from cockpit.model.record import Labels
from cockpit.model.session import Reader
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.owner import OwnerTraits
from cockpit.pools.owner_log import running_pod
from cockpit.sanitise import clean

DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment", namespaced=True)
_FLAG: Final = re.compile(r"--?([a-z][a-z0-9-]*)(?:=(.*))?")
_LONGEST: Final = 60
_MOST: Final = 500


async def read_flags(session: Reader, store: StoreReader, now_seconds: float) -> tuple[OwnerFlags, ...]:
    """Of each owner that works in this cluster and has such flags: those of its pod, else of its Deployment.
    Raises NoConnection."""
    owners = registry.started_by_flags(store)
    return tuple(
        [await _read(session, one.traits, one.namespace(store), store, now_seconds) for one in owners]
    )


async def _read(
    session: Reader, owner: OwnerTraits, namespace: str, store: StoreReader, now_seconds: float
) -> OwnerFlags:
    """`uid` is the owner's name: what is read later takes the place of this."""
    pod = running_pod(owner, store)
    if pod is not None:
        answer = await session.request("GET", PODS.path(pod.namespace, pod.name))
        trouble = withheld(answer.status, f"get pod {pod.key}") or _failed(answer.status)
        spec = mapping(mapping(None if trouble else answer.json()).get("spec"))
    else:
        answer = await session.request("GET", DEPLOYMENTS.path(namespace))
        trouble = withheld(answer.status, f"list deployments of {namespace}") or _failed(answer.status)
        spec = _spec_of(mapping(None if trouble else answer.json()), owner.image_word)
        trouble = trouble or ("" if spec else f"no pod or Deployment of it is seen in {namespace}")
    found = OwnerFlags(uid=owner.name, name=owner.name, read_seconds=now_seconds, trouble=trouble)
    if trouble:
        return found
    return OwnerFlags(
        uid=owner.name,
        name=owner.name,
        flags=flags_in(spec, owner.flags),
        pod_uid="" if pod is None else pod.uid,
        read_seconds=now_seconds,
    )


def _failed(status: int) -> str:
    return "" if status < 300 else f"the server answered {status}"


def _spec_of(found: Mapping[str, Any], image_word: str) -> dict[str, Any]:
    """The pod spec of the Deployment that runs such an image, {} where none does."""
    for item in mappings(found.get("items"))[:_MOST]:
        spec = mapping(mapping(mapping(item.get("spec")).get("template")).get("spec"))
        if any(image_word in str(container.get("image")) for container in mappings(spec.get("containers"))):
            return spec
    return {}


def flags_in(spec: Mapping[str, Any], names: Sequence[str]) -> Labels:
    """The flags of these names in the commands of a pod spec, the last of each: `--name=value`,
    `--name value` or, of a switch, `--name`; no other word of a command is kept."""
    found: dict[str, str] = {}
    for container in mappings(spec.get("containers")):
        words = [*_words(container.get("command")), *_words(container.get("args"))]
        for word, after in zip(words, [*words[1:], ""], strict=True):
            match = _FLAG.fullmatch(word)
            if match is not None and match[1] in names:
                value = match[2] if match[2] is not None else "" if after.startswith("-") else after
                found[match[1]] = clean(value.strip("\"'") or "true", _LONGEST)
    return tuple(sorted(found.items()))


def _words(value: Any) -> Iterator[str]:
    """A command may be a line for a shell."""
    for item in value if isinstance(value, list) else ():
        yield from str(item).split()
