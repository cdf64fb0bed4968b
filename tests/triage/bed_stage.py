"""The stage on a real control plane: makes objects, watches for a component's word, takes all down again."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from tests.bed.api import Api, ApiError
from tests.triage.case import Tree
from tests.triage.draw import Draw
from tests.triage.stage import PATIENCE_SECONDS, Seen

_TRIED_SECONDS = 30.0
_GONE = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}

SAVED = (
    *("namespaces", "nodes", "pods", "events", "persistentvolumeclaims", "persistentvolumes"),
    *("resourcequotas", "limitranges", "configmaps", "services", "serviceaccounts"),
    *("deployments.apps", "replicasets.apps", "statefulsets.apps", "jobs.batch", "mpijobs.kubeflow.org"),
    *(
        f"{one}.kueue.x-k8s.io"
        for one in (
            *("workloads", "localqueues", "clusterqueues", "resourceflavors", "workloadpriorityclasses"),
            *("admissionchecks", "topologies", "cohorts"),
        )
    ),
    *("priorityclasses.scheduling.k8s.io", "podgroups.scheduling.k8s.io", "workloads.scheduling.k8s.io"),
    *("storageclasses.storage.k8s.io", "csinodes.storage.k8s.io", "poddisruptionbudgets.policy"),
    *(
        f"{one}.resource.k8s.io"
        for one in ("resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses")
    ),
    *(
        f"{one}.admissionregistration.k8s.io"
        for one in (
            *("validatingwebhookconfigurations", "validatingadmissionpolicies"),
            "validatingadmissionpolicybindings",
            *("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
        )
    ),
    *("podgroups.scheduling.x-k8s.io", "jobsets.jobset.x-k8s.io"),
    # The pools first: what is taken away of a pool that stays is made anew.
    *("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "kwoknodeclasses.karpenter.kwok.sh"),
)
"""Collections that a case keeps. Secrets are never read."""

_LAST = ("nodes", "namespaces")
_OF_KARPENTER = ("NodePool", "NodeClaim")


class Served:
    """Where the collections of one API server are: by label, as `jobs.batch`."""

    def __init__(self, api: Api) -> None:
        self._places: dict[str, tuple[str, str, str, bool]] = {}
        for group in self._groups(api):
            self._learn(api, group)

    def _groups(self, api: Api) -> Iterator[str]:
        yield "/api/v1"
        for one in api.get("/apis")["groups"]:
            for version in [one["preferredVersion"], *one["versions"]]:
                yield f"/apis/{version['groupVersion']}"

    def _learn(self, api: Api, base: str) -> None:
        version = base.removeprefix("/apis/").removeprefix("/api/")
        group = version.rpartition("/")[0]
        for one in api.get(base)["resources"]:
            if "/" not in one["name"]:
                label = f"{one['name']}.{group}" if group else one["name"]
                self._places.setdefault(label, (base, version, one["kind"], one["namespaced"]))

    def __contains__(self, label: str) -> bool:
        return label in self._places

    def labels(self) -> list[str]:
        """All collections."""
        return list(self._places)

    def path(self, label: str, space: str = "", name: str = "") -> str:
        """The path of a collection, or of one object in it."""
        base, _, _, is_namespaced = self._places[label]
        where = f"/namespaces/{space}" if is_namespaced and space else ""
        return f"{base}{where}/{label.partition('.')[0]}{f'/{name}' if name else ''}"

    def label_of(self, tree: Tree) -> str:
        """The collection an object belongs to."""
        group = tree["apiVersion"].rpartition("/")[0]
        for label, (_, _, kind, _) in self._places.items():
            if kind == tree["kind"] and label.partition(".")[2] == group:
                return label
        raise KeyError(f"no {tree['kind']} of {tree['apiVersion']} is served here")

    def is_namespaced(self, label: str) -> bool:
        """True where its objects live in namespaces."""
        return self._places[label][3]

    def stamp(self, label: str) -> Tree:
        """What items of a list lack: apiVersion and kind."""
        _, version, kind, _ = self._places[label]
        return {"apiVersion": version, "kind": kind}


class BedStage:
    """One case on a bed that holds nothing else: `close` takes away all that was made. `made` are the objects
    as scripts wrote them, by kind and name."""

    def __init__(self, api: Api, served: Served, draw: Draw) -> None:
        self.draw = draw
        self.made: dict[tuple[str, str], Tree] = {}
        self._api = api
        self._served = served
        self._before = {
            one["metadata"]["uid"]
            for label in self._saved()
            if not served.is_namespaced(label)
            for one in api.items(served.path(label))
        }
        self._spaces: list[str] = []
        taken = {one["metadata"]["name"] for one in api.items(served.path("namespaces"))}  # some are leaving
        while (space := draw.space()) in taken:
            pass
        self.space = space
        self.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.space}})

    def _saved(self) -> list[str]:
        return [label for label in SAVED if label in self._served]

    # ---- what scripts do

    def make(self, *trees: Tree) -> None:
        """Create objects, in order. Raises ApiError."""
        for tree in trees:
            self.made[tree["kind"], tree["metadata"]["name"]] = tree
            label = self._served.label_of(tree)
            space = ""
            if self._served.is_namespaced(label):
                space = tree["metadata"].setdefault("namespace", self.space)
            path = self._served.path(label, space)
            self._patiently(partial(self._api.create, path, tree))
            if label == "namespaces":
                self._spaces.append(tree["metadata"]["name"])
                self._await_account(tree["metadata"]["name"])

    def _patiently(self, ask: Callable[[], object]) -> None:
        """Tries again while a webhook that is starting, or a kind that is new, is not there yet."""
        deadline = time.monotonic() + _TRIED_SECONDS
        while True:
            try:
                ask()
                return
            except ApiError as error:
                if error.status not in (404, 500, 503) or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def _await_account(self, space: str) -> None:
        """Admission refuses pods until the controller has made the default account."""
        self.until("serviceaccounts", lambda one: one["metadata"]["name"] == "default", space=space)
        self.until("configmaps", lambda one: one["metadata"]["name"] == "kube-root-ca.crt", space=space)

    def patch(self, kind: str, name: str, change: Tree, *, part: str = "", space: str = "") -> None:
        """Merge patch one object. Raises ApiError."""
        path = self._served.path(kind, space or self.space, name)
        self._patiently(lambda: self._api.merge(f"{path}/{part}" if part else path, change))

    def remove(self, kind: str, name: str) -> None:
        """Ask for its deletion, with its own grace."""
        self._api.delete(self._served.path(kind, self.space, name), {"propagationPolicy": "Background"})

    def get(self, kind: str, *, space: str = "") -> list[Tree]:
        """The collection as it is now."""
        return self._api.items(self._served.path(kind, space or self.space))

    def until(
        self, kind: str, seen: Seen, *, space: str = "", patience_seconds: float = PATIENCE_SECONDS
    ) -> Tree:
        """The first object that is as wanted, by a list and a watch from it on. Raises TimeoutError."""
        path = self._served.path(kind, space or self.space)
        deadline = time.monotonic() + patience_seconds
        while (left := deadline - time.monotonic()) > 0:
            listed = self._api.get(path)
            for one in listed["items"]:
                if seen(one):
                    return dict(one)
            for told in self._told(path, listed, left):
                if told["type"] in ("ADDED", "MODIFIED") and seen(told["object"]):
                    return dict(told["object"])
        raise TimeoutError(f"nothing of the kind came to {path} within {patience_seconds:.0f} s")

    def until_gone(self, kind: str, name: str) -> None:
        """Until it is deleted, by a list and a watch from it on. Raises TimeoutError."""
        path = self._served.path(kind, self.space)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            listed = self._api.get(path)
            if all(one["metadata"]["name"] != name for one in listed["items"]):
                return
            for told in self._told(path, listed, left):
                if told["type"] == "DELETED" and told["object"]["metadata"]["name"] == name:
                    return
        raise TimeoutError(f"{name} is still in {path} after {PATIENCE_SECONDS:.0f} s")

    def _told(self, path: str, listed: Tree, seconds: float) -> Iterator[Tree]:
        query = (
            ("watch", "1"),
            ("resourceVersion", listed["metadata"]["resourceVersion"]),
            ("timeoutSeconds", str(max(1, int(seconds)))),
        )
        for line in self._api.lines(path, query=query, timeout_seconds=seconds + 10):
            yield json.loads(line)

    # ---- what the recorder does

    def objects(self) -> dict[str, list[Tree]]:
        """All of the case, by collection, without managedFields; collections that hold nothing too."""
        found: dict[str, list[Tree]] = {}
        for label in self._saved():
            if self._served.is_namespaced(label):
                items = [one for space in self._spaces for one in self.get(label, space=space)]
            else:
                items = [one for one in self.get(label) if one["metadata"]["uid"] not in self._before]
            stamp = self._served.stamp(label)
            found[label] = [cleaned({**stamp, **one}) for one in items]
        # Events of what has no namespace live in the default one; a claim may be gone by now.
        mine = {one["metadata"]["name"] for one in found["nodes"]}
        found["events"] += [
            cleaned({**self._served.stamp("events"), **one})
            for one in self.get("events", space="default")
            if one["involvedObject"].get("name") in mine or one["involvedObject"].get("kind") in _OF_KARPENTER
        ]
        return found

    def close(self) -> None:
        """Delete everything, without grace; finalizers are taken off."""
        mine = [label for label in self._saved() if label not in (*_LAST, "events", "configmaps")]
        for label in [*mine, "nodes"]:
            if self._served.is_namespaced(label):
                for space in self._spaces:
                    self._wipe(label, self.get(label, space=space))
            else:
                self._wipe(
                    label, (one for one in self.get(label) if one["metadata"]["uid"] not in self._before)
                )
        for space in self._spaces:
            self._api.delete(self._served.path("namespaces", name=space))
        for path in ("events",):
            self._api.request("DELETE", self._served.path(path, "default"))

    def _wipe(self, label: str, objects: Iterable[Tree]) -> None:
        def one(tree: Tree) -> None:
            metadata = tree["metadata"]
            path = self._served.path(label, metadata.get("namespace", ""), metadata["name"])
            self._api.request("DELETE", path, _GONE)
            if metadata.get("finalizers"):
                no_finalizers: dict[str, Any] = {"metadata": {"finalizers": None}}
                kind = "application/merge-patch+json"
                self._api.request("PATCH", path, no_finalizers, content_type=kind)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(one, objects))


def cleaned(tree: Tree) -> Tree:
    """Without what no reader looks at."""
    metadata = {key: value for key, value in tree["metadata"].items() if key != "managedFields"}
    return {**tree, "metadata": metadata}
