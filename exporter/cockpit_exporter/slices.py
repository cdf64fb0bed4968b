"""UUIDs of DRA devices from this node's ResourceSlices, read from the API server with the pod's own token.

Only for nodes whose cards come by claims, and only where the service account may list resourceslices.
resource.k8s.io/v1 is served since 1.34, v1beta2 since 1.33.
"""

import json
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

READ_SECONDS = 60.0
CALL_SECONDS = 10.0
MOST_BYTES = 8 * 1024 * 1024
VERSIONS = ("v1", "v1beta2")
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

Slices = dict[tuple[str, str], str]


def uuids(listed: Any, driver: str = "gpu.nvidia.com") -> Slices:
    """UUID by (pool, device) from a ResourceSliceList. Of a pool only its newest generation counts, and only
    when all its slices are there. What has another shape is passed over."""
    pools: dict[str, tuple[int, int, int, Slices]] = {}
    items = listed.get("items") if isinstance(listed, dict) else None
    for item in items if isinstance(items, list) else ():
        spec = item.get("spec") if isinstance(item, dict) else None
        pool = spec.get("pool") if isinstance(spec, dict) else None
        if not isinstance(spec, dict) or not isinstance(pool, dict) or spec.get("driver") != driver:
            continue
        name, generation, wanted = (
            pool.get("name"),
            pool.get("generation", 0),
            pool.get("resourceSliceCount", 1),
        )
        if not isinstance(name, str) or not isinstance(generation, int) or not isinstance(wanted, int):
            continue
        newest, seen, _, devices = pools.get(name, (generation, 0, wanted, {}))
        if generation < newest:
            continue
        if generation > newest:
            seen, devices = 0, {}
        devices = {**devices, **_devices(name, spec.get("devices"))}
        pools[name] = (generation, seen + 1, wanted, devices)
    return {
        key: uuid
        for _, seen, wanted, devices in pools.values()
        if seen >= wanted
        for key, uuid in devices.items()
    }


def _devices(pool: str, listed: Any) -> Slices:
    found: Slices = {}
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, dict):
            continue
        body = one.get("basic", one)  # v1beta1 had one level more
        attributes = body.get("attributes") if isinstance(body, dict) else None
        uuid = attributes.get("uuid") if isinstance(attributes, dict) else None
        told = uuid.get("string") if isinstance(uuid, dict) else None
        if isinstance(one.get("name"), str) and isinstance(told, str):
            found[pool, one["name"]] = told
    return found


class SliceWatch:
    """Reads this node's slices once a minute."""

    def __init__(self, node: str, base_url: str, account: Path = SERVICE_ACCOUNT) -> None:
        self._node = node
        self._base_url = base_url
        self._account = account
        self._stop = threading.Event()
        self.slices: Mapping[tuple[str, str], str] = {}
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
            self.reason = ""
        except urllib.error.HTTPError as problem:
            self.reason = f"http-{problem.code}"
            problem.close()
        except (OSError, ValueError) as problem:
            self.reason = type(problem).__name__

    def _read(self) -> Any:
        """The list, from the newest version that is served."""
        for version in VERSIONS[:-1]:
            try:
                return self._get(version)
            except urllib.error.HTTPError as problem:
                if problem.code != 404:
                    raise
                problem.close()
        return self._get(VERSIONS[-1])

    def _get(self, version: str) -> Any:
        query = urllib.parse.urlencode({"fieldSelector": f"spec.nodeName={self._node}", "limit": "500"})
        url = f"{self._base_url}/apis/resource.k8s.io/{version}/resourceslices?{query}"
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
            raise ValueError("the list of slices is too large")
        return json.loads(body)
