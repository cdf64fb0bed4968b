"""Two paths through the house: each hop is in its file, and no room is entered twice.

A hop is a file that has what the path carries in its hands (bytes, a record, a verb, a plan, a call) and
passes it on. What a file was handed before (how to ask, what plans are made on, the session, where batches
go) is a value that travels down with the call, and no entrance. A file that only answers a hop's question
(`actions/planning`, `target_kinds`, `address`, `shell`, `kubectl`, `others`; a getter of the
app) is no hop.
"""

from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.unit.house.test_architecture import ROOT, _has
from tests.unit.house.test_import_circles import read_graph

MOST_HOPS = 11


class Hop(NamedTuple):
    """One step of a path."""

    file: str
    function: str
    caller: int  # the number of the hop that calls it, from 1; 0 where it is none of them
    is_handed: bool = False  # the caller has it from somebody else and does not import it

    @property
    def path(self) -> Path:
        root = ROOT / "widgets" if self.file.startswith("cockpit_widgets/") else ROOT / "cockpit"
        return root / f"{self.file}.py"

    @property
    def module(self) -> str:
        name = self.file.replace("/", ".")
        return name if name.startswith("cockpit_widgets.") else f"cockpit.{name}"

    @property
    def room(self) -> str:
        return self.file.split("/")[0]


Hops = tuple[Hop, ...]

KEY: Hops = (  # K on a job, to its audit line
    Hop("screens/place", "action_verb", 0),
    Hop("screens/verb_keys", "begin", 1),
    Hop("actions/verbs/registry", "verb_meant", 2),
    Hop("actions/execute/run_verb", "carry_verb", 2),
    Hop("actions/kill", "plan_to_kill", 4, is_handed=True),
    Hop("screens/plan_dialog", "ask", 4, is_handed=True),
    Hop("actions/execute/replan", "carry_replanned", 4),
    Hop("actions/execute/execute_plan", "carry_out", 7),
    Hop("local_state/audit", "append", 8),
    Hop("kube/calls", "perform", 8),
    Hop("kube/session", "request", 10),
)

EVENT: Hops = (  # a pod that changed, from bytes to a pixel of the jobs
    Hop("kube/fast_stream", "buffer_updated", 0),
    Hop("kube/chunked", "feed", 1),
    Hop("kube/stream_answer", "chunks", 4, is_handed=True),
    Hop("kube/reflector", "_events", 0),
    Hop("kube/decode/frames", "take", 6, is_handed=True),
    Hop("kube/event_dispatch", "work", 4),
    Hop("kube/decode/wire", "event", 6),
    Hop("kube/decode/pod_memo", "_first", 4, is_handed=True),
    Hop("kube/batcher", "changed", 4),
    Hop("kube/feed", "_sink", 9, is_handed=True),
    Hop("attach", "sink", 10, is_handed=True),
    Hop("store/store", "apply", 11),
    Hop("store/indexes", "put", 12),
    Hop("store/delta", "sets", 12),
    Hop("store/signal", "notify", 11, is_handed=True),
    Hop("app", "on_change", 15, is_handed=True),
    Hop("jobs/index", "catch_up", 16, is_handed=True),
    Hop("screens/place", "show", 16, is_handed=True),
    Hop("screens/shared_place", "show", 18),
    Hop("screens/table_place", "project", 19),
    Hop("screens/shared_list", "source", 20),
    Hop("screens/jobs", "listed", 21),
    Hop("views/jobs", "listed", 22),
    Hop("views/lazy_table", "table", 21),
    Hop("cockpit_widgets/resource_table", "set_source", 20),
)


@pytest.mark.parametrize("path", [KEY, EVENT], ids=["key", "event"])
def test_each_hop_is_there_and_its_caller_knows_it(path: Hops) -> None:
    graph = read_graph()
    for hop in path:
        assert _has(hop.path, hop.function), hop
        if hop.caller and not hop.is_handed:
            caller = path[hop.caller - 1].module
            is_base = caller in graph[hop.module]  # it calls what a subclass of its own has put in place
            package = hop.module.rpartition(".")[0]
            is_shown = package in graph[caller] and hop.module in graph.get(package, ())
            assert hop.module in graph[caller] or is_shown or is_base, hop


def rooms(path: Hops) -> list[str]:
    """The rooms in the order of the path. A value that was handed in from above is no entrance."""
    callers = {hop.caller for hop in path}
    inward = [hop for number, hop in enumerate(path, 1) if not hop.is_handed or number in callers]
    return [room for room, _ in groupby(inward, key=lambda hop: hop.room)]


@pytest.mark.parametrize("path", [KEY, EVENT], ids=["key", "event"])
def test_no_room_is_entered_twice(path: Hops) -> None:
    found = rooms(path)
    assert len(found) == len(set(found)), found


def test_a_key_reaches_its_audit_line_in_eleven_files() -> None:
    assert len(KEY) <= MOST_HOPS


def test_a_room_that_is_entered_twice_is_seen() -> None:
    path = (Hop("app", "a", 0), Hop("screens/x", "b", 1), Hop("app", "c", 2))
    assert rooms(path) == ["app", "screens", "app"]
