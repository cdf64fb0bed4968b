"""UUIDs of DRA devices from this node's ResourceSlices, and which claims only look at their devices.

Read from the API server with the pod's own token: only for nodes whose cards come by claims, and only where
the service account may list resourceslices and get resourceclaims. resource.k8s.io/v1 is served since 1.34,
v1beta2 since 1.33, v1beta1 since 1.32.
"""

import json
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cockpit_exporter.attribution import Device

READ_SECONDS = 60.0
CALL_SECONDS = 10.0
MOST_BYTES = 8 * 1024 * 1024
VERSIONS = ("v1", "v1beta2", "v1beta1")
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

MOST_PAGES = 20

Slices = dict[Device, str]
Claim = tuple[str, str]
"""Namespace and name."""


def uuids(items: Any) -> Slices:
    """UUIDs from ResourceSlices. Of a pool only its newest generation counts, and only when all its slices
    are there. What has another shape is passed over."""
    pools: dict[tuple[str, str], tuple[int, int, int, Slices]] = {}
    for item in items if isinstance(items, list) else ():
        spec = item.get("spec") if isinstance(item, dict) else None
        pool = spec.get("pool") if isinstance(spec, dict) else None
        if not isinstance(spec, dict) or not isinstance(pool, dict):
            continue
        driver, name = spec.get("driver"), pool.get("name")
        generation, wanted = pool.get("generation", 0), pool.get("resourceSliceCount", 1)
        if not isinstance(driver, str) or not isinstance(name, str):
            continue
        if not isinstance(generation, int) or not isinstance(wanted, int):
            continue
        newest, seen, _, devices = pools.get((driver, name), (generation, 0, wanted, {}))
        if generation < newest:
            continue
        if generation > newest:
            seen, devices = 0, {}
        devices = {**devices, **_devices(driver, name, spec.get("devices"))}
        pools[driver, name] = (generation, seen + 1, wanted, devices)
    return {
        key: uuid
        for _, seen, wanted, devices in pools.values()
        if seen >= wanted
        for key, uuid in devices.items()
    }


def _devices(driver: str, pool: str, listed: Any) -> Slices:
    found: Slices = {}
    for item in listed if isinstance(listed, list) else ():
        if not isinstance(item, dict):
            continue
        body = item.get("basic", item)  # v1beta1 had one level more
        attributes = body.get("attributes") if isinstance(body, dict) else None
        uuid = attributes.get("uuid") if isinstance(attributes, dict) else None
        told = uuid.get("string") if isinstance(uuid, dict) else None
        if isinstance(item.get("name"), str) and isinstance(told, str):
            found[driver, pool, item["name"]] = told
    return found


def watched_devices(claim: Any) -> Iterator[Device]:
    """Devices that a claim has with admin access: its pods look at them, and others may hold them."""
    node = claim
    for key in ("status", "allocation", "devices", "results"):
        node = node.get(key) if isinstance(node, dict) else None
    for item in node if isinstance(node, list) else ():
        if isinstance(item, dict) and item.get("adminAccess") is True:
            yield str(item.get("driver", "")), str(item.get("pool", "")), str(item.get("device", ""))


class SliceWatch:
    """Reads this node's slices once a minute, and every claim in use once."""

    def __init__(
        self,
        node: str,
        base_url: str,
        account: Path = SERVICE_ACCOUNT,
        claims: Callable[[], Iterable[Claim]] = tuple,
    ) -> None:
        """`claims` tells those in use on this node."""
        self._node = node
        self._base_url = base_url
        self._account = account
        self._claims = claims
        self._known: dict[Claim, frozenset[Device]] = {}
        self._version = VERSIONS[0]
        self._stop = threading.Event()
        self.slices: Mapping[Device, str] = {}
        self.watched: frozenset[tuple[str, str, Device]] = frozenset()
        self.reason = "not-started"

    def run(self) -> None:
        """Until `stop`. A failure keeps what was known."""
        while not self._stop.is_set():
            self.step()
            self._stop.wait(READ_SECONDS)

    def stop(self) -> None:
        self._stop.set()

    def step(self) -> None:
        try:
            self.slices = uuids(self._read())
            self._read_claims()
            self.reason = ""
        except urllib.error.HTTPError as problem:
            self.reason = f"http-{problem.code}"
            problem.close()
        except (OSError, ValueError) as problem:
            self.reason = type(problem).__name__

    def _read_claims(self) -> None:
        """What a claim has does not change while it is in use."""
        in_use = set(self._claims())
        self._known = {claim: devices for claim, devices in self._known.items() if claim in in_use}
        self.watched = frozenset((*claim, item) for claim, some in self._known.items() for item in some)
        for claim in sorted(in_use - self._known.keys()):
            namespace, name = (urllib.parse.quote(item, safe="") for item in claim)
            try:
                found = self._get(f"{self._version}/namespaces/{namespace}/resourceclaims/{name}")
            except urllib.error.HTTPError as problem:
                if problem.code != 404:
                    raise
                problem.close()  # it is gone since the kubelet told it
                continue
            self._known[claim] = devices = frozenset(watched_devices(found))
            self.watched |= {(*claim, device) for device in devices}

    def _read(self) -> list[Any]:
        """All items, from the newest version that is served."""
        for version in VERSIONS:
            self._version = version
            try:
                return self._list()
            except urllib.error.HTTPError as problem:
                if problem.code != 404 or version == VERSIONS[-1]:
                    raise
                problem.close()
        return []

    def _list(self) -> list[Any]:
        items: list[Any] = []
        query = {"fieldSelector": f"spec.nodeName={self._node}", "limit": "500"}
        for _ in range(MOST_PAGES):
            page = self._get(f"{self._version}/resourceslices?{urllib.parse.urlencode(query)}")
            found = page.get("items") if isinstance(page, dict) else None
            items += found if isinstance(found, list) else []
            meta = page.get("metadata") if isinstance(page, dict) else None
            go_on = meta.get("continue") if isinstance(meta, dict) else None
            if not go_on:
                return items
            query["continue"] = str(go_on)
        raise ValueError("the list of slices has no end")

    def _get(self, path: str) -> Any:
        url = f"{self._base_url}/apis/resource.k8s.io/{path}"
        headers = {"Accept": "application/json"}
        token, authority = self._account / "token", self._account / "ca.crt"
        if token.exists():  # read each time: the kubelet renews it
            headers["Authorization"] = f"Bearer {token.read_text().strip()}"
        trust = ssl.create_default_context(cafile=str(authority)) if authority.exists() else None
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if trust is not None:
            handlers.append(urllib.request.HTTPSHandler(context=trust))
        opener = urllib.request.build_opener(*handlers)
        request = urllib.request.Request(url, headers=headers)
        with opener.open(request, timeout=CALL_SECONDS) as answer:
            body = answer.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise ValueError("the answer is too large")
        return json.loads(body)
