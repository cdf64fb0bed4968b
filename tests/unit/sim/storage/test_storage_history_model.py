"""Random histories against a small model: versions grow, watches replay exactly, dry runs leave no trace."""

from collections.abc import Callable
from random import Random
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from cockpit.clock import ManualClock
from cockpit.sim.port import PatchType, PortError, Tree
from cockpit.sim.resources import CONFIG_MAPS
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.request import ListOptions, Request, WatchOptions
from cockpit.sim.server.storage import Stored

SPACES = ("default", "kube-public")
NAMES = ("a", "b", "c", "a-b")
HOLD = "storage.test/hold"

Model = dict[tuple[str, str], Tree]
"""What should be there: data, labels, and whether it is held by a finalizer and ending."""


def asked(space: str, name: str = "", *, dry: bool = False) -> Request:
    return Request(resource=CONFIG_MAPS, namespace=space, name=name, dry_run=dry)


def shown(stored: Stored) -> Tree:
    metadata = stored.tree["metadata"]
    return {
        "data": stored.tree.get("data", {}),
        "labels": metadata.get("labels", {}),
        "is_held": HOLD in metadata.get("finalizers", ()),
        "is_ending": "deletionTimestamp" in metadata,
    }


class History(RuleBasedStateMachine):
    versions = Bundle("versions")

    @initialize(target=versions)
    def begin(self) -> Any:
        self.operations: Operations = assemble(ManualClock(), Random(1), has_accounts=False).operations
        self.model: Model = {}
        self.past: dict[int, Model] = {self.storage_version: {}}
        self.seen: Model = {}
        self.heard: list[int] = []
        self.stop: Callable[[], None] = self.operations.storage.listen(CONFIG_MAPS, self._hear)
        return self.storage_version

    @property
    def storage_version(self) -> int:
        return self.operations.storage.version

    def _hear(self, commit: Any) -> None:
        self.heard.append(commit.version)
        key = tuple(commit.after.key.split("/"))
        if commit.type == "DELETED":
            del self.seen[key]
        else:
            self.seen[key] = shown(commit.after)

    def _written(self, before: int, *, is_change: bool) -> Any:
        assert (self.storage_version > before) == is_change
        self.past[self.storage_version] = {key: dict(one) for key, one in self.model.items()}
        return multiple(self.storage_version) if is_change else multiple()

    @rule(
        target=versions,
        space=st.sampled_from(SPACES),
        name=st.sampled_from(NAMES),
        team=st.sampled_from("xyz"),
        held=st.booleans(),
        dry=st.booleans(),
    )
    def create(self, space: str, name: str, team: str, held: bool, dry: bool) -> Any:
        before = self.storage_version
        metadata: Tree = {"name": name, "labels": {"team": team}}
        if held:
            metadata["finalizers"] = [HOLD]
        tree = {"metadata": metadata, "data": {"n": "0"}}
        try:
            outcome = self.operations.create(asked(space, dry=dry), tree)
        except PortError as error:
            assert (error.reason, (space, name) in self.model) == ("AlreadyExists", True)
            return self._written(before, is_change=False)
        assert (space, name) not in self.model
        assert outcome.tree["metadata"]["uid"]
        if not dry:
            self.model[(space, name)] = {
                "data": {"n": "0"},
                "labels": {"team": team},
                "is_held": held,
                "is_ending": False,
            }
        return self._written(before, is_change=not dry)

    @rule(
        target=versions,
        space=st.sampled_from(SPACES),
        name=st.sampled_from(NAMES),
        number=st.sampled_from("012"),
        team=st.sampled_from("xyz"),
        dry=st.booleans(),
    )
    def patch(self, space: str, name: str, number: str, team: str, dry: bool) -> Any:
        before = self.storage_version
        change = {"metadata": {"labels": {"team": team}}, "data": {"n": number}}
        held = self.model.get((space, name))
        try:
            outcome = self.operations.patch(asked(space, name, dry=dry), change, PatchType.MERGE)
        except PortError as error:
            assert error.is_gone
            assert held is None
            return self._written(before, is_change=False)
        assert held is not None
        assert outcome.tree["data"] == {"n": number}
        is_new = held["data"] != {"n": number} or held["labels"] != {"team": team}
        if not dry:
            self.model[(space, name)] = {**held, "data": {"n": number}, "labels": {"team": team}}
        return self._written(before, is_change=is_new and not dry)

    @rule(
        target=versions,
        space=st.sampled_from(SPACES),
        name=st.sampled_from(NAMES),
        dry=st.booleans(),
    )
    def delete(self, space: str, name: str, dry: bool) -> Any:
        before = self.storage_version
        held = self.model.get((space, name))
        try:
            outcome = self.operations.delete(asked(space, name, dry=dry))
        except PortError as error:
            assert error.is_gone
            assert held is None
            return self._written(before, is_change=False)
        assert held is not None
        assert outcome.is_final is not held["is_held"]
        is_change = not (held["is_held"] and held["is_ending"])
        if dry:
            return self._written(before, is_change=False)
        if held["is_held"]:
            self.model[(space, name)] = {**held, "is_ending": True}
        else:
            del self.model[(space, name)]
        return self._written(before, is_change=is_change)

    @rule(target=versions, space=st.sampled_from(SPACES), name=st.sampled_from(NAMES))
    def release(self, space: str, name: str) -> Any:
        before = self.storage_version
        held = self.model.get((space, name))
        if held is None:
            return multiple()
        self.operations.patch(asked(space, name), {"metadata": {"finalizers": None}}, PatchType.MERGE)
        if held["is_ending"]:
            del self.model[(space, name)]
        else:
            self.model[(space, name)] = {**held, "is_held": False}
        return self._written(before, is_change=held["is_held"])

    @rule(since=versions, space=st.sampled_from(("", *SPACES)), team=st.sampled_from(("", "x", "y")))
    def a_watch_replays_the_difference(self, since: int, space: str, team: str) -> None:
        def wanted(model: Model) -> Model:
            return {
                key: one
                for key, one in model.items()
                if (not space or key[0] == space) and (not team or one["labels"]["team"] == team)
            }

        rows = wanted(self.past[since])
        told: list[int] = []

        def take(kind: str, stored: Stored) -> None:
            key = (stored.tree["metadata"]["namespace"], stored.tree["metadata"]["name"])
            told.append(int(stored.tree["metadata"]["resourceVersion"]))
            assert (key in rows) == (kind != "ADDED")
            if kind == "DELETED":
                del rows[key]
            else:
                rows[key] = shown(stored)

        labels = f"team={team}" if team else ""
        options = WatchOptions(version=str(since), labels=labels)
        self.operations.watch(asked(space), options, take)()
        assert rows == wanted(self.model)
        assert told == sorted(set(told))
        assert all(version > since for version in told)

    @rule(at=versions, space=st.sampled_from(("", *SPACES)), limit=st.sampled_from((0, 1, 2)))
    def a_list_of_the_past_is_what_was_then(self, at: int, space: str, limit: int) -> None:
        found: Model = {}
        options = ListOptions(version=str(at), version_match="Exact", limit=limit)
        while True:
            page = self.operations.list(asked(space), options)
            assert page.version == at
            assert not limit or len(page.items) <= limit
            for stored in page.items:
                metadata = stored.tree["metadata"]
                found[(metadata["namespace"], metadata["name"])] = shown(stored)
            if not page.continue_token:
                break
            options = ListOptions(continue_token=page.continue_token, limit=limit)
        wanted = {key: one for key, one in self.past[at].items() if not space or key[0] == space}
        assert found == wanted
        ordered = [f"{namespace}/{name}" for namespace, name in found]
        assert ordered == sorted(ordered)

    @invariant()
    def everybody_sees_the_same(self) -> None:
        listed = self.operations.list(asked("")).items
        found = {
            (one.tree["metadata"]["namespace"], one.tree["metadata"]["name"]): shown(one) for one in listed
        }
        assert found == self.model == self.seen
        assert self.heard == sorted(set(self.heard))
        assert all(int(one.tree["metadata"]["resourceVersion"]) == one.version for one in listed)


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
