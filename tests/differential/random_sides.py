"""A random sequence on one server: its answers, and what watchers were told; and how two of them compare."""

import http.client
import json
import re
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.bed.api import Api, Reply
from tests.differential.go_maps import in_order
from tests.differential.go_phrases import without_go
from tests.differential.random_admission import Admission
from tests.differential.random_hearing import Marks, hear, is_not_ours, is_repair, path_of
from tests.differential.random_objects import DEFINITION, SORTS, Tree
from tests.differential.random_writes import Step, merged
from tests.differential.tree_differences import differences

_REFERENCE = re.compile(r"\{(\w+/[\w.-]+)\.(uid|version|first)\}")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_GENERATED = re.compile(r"drawn-\w{5}")

_VERSIONS = "versions count everything that is written, not only the sequence"
NOT_COMPARED: tuple[tuple[str, str, str], ...] = (
    (r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", "each server has its own clock"),
    (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS", "cluster addresses are drawn by chance from the service range"),
    (r"in (record|the precondition) \(\d+\)", r"in \1 (VERSION)", _VERSIONS),
    (r"[rR]esourceVersion: ?\d+", "ResourceVersion: VERSION", _VERSIONS),
    (r"(Too large resource version|too old resource version): .*", r"\1", _VERSIONS),
    (r"Invalid value: \{[\s\S]*?\}: (?=[a-z])", "Invalid value: OBJECT: ", "Go prints its own structures"),
    (r"(pod updates may not change fields other than)[\s\S]*", r"\1", "Go prints its structures after it"),
)
"""What is not compared: a pattern in texts, what stands for it, and why."""

NOT_COMPARED_FIELDS = {
    "time": "of managed fields: each server has its own clock",
    "continue": "its content is the server's own; the pages it leads to are compared",
    "nodePort": "drawn by chance from the range",
    "healthCheckNodePort": "drawn by chance from the range",
}
"""Fields that are only there or not there."""

_PATTERNS = tuple((re.compile(pattern), name) for pattern, name, _ in NOT_COMPARED)


@dataclass
class Side:
    """One sequence on one server. `answers` and `told` are as the server gave them."""

    api: Api
    space: str
    since: str = "0"
    first: dict[str, Tree] = field(default_factory=dict)
    last: dict[str, Tree] = field(default_factory=dict)
    whole: dict[str, Tree] = field(default_factory=dict)
    answers: list[Any] = field(default_factory=list)
    told: dict[str, list[Any]] = field(default_factory=dict)
    admission: Admission | None = None
    """Waited for where the server has caches of its own."""

    def path(self, text: str) -> str:
        """A path of `write_stories` as it is asked for."""
        return path_of(text, self.space)

    def filled(self, text: str) -> str:
        """With the namespace, and what was answered, in place of what stands for them."""
        return _REFERENCE.sub(self._reference, text.replace("NS", self.space))

    def _reference(self, found: re.Match[str]) -> str:
        label, what = found.groups()
        kept = (self.first if what == "first" else self.last).get(label)
        if kept is None:
            return "never-seen" if what == "uid" else self.since
        return str(kept["uid" if what == "uid" else "resourceVersion"])

    def run(self, steps: Sequence[Step]) -> None:
        """Every step in turn."""
        for step in steps:
            self.answers.append(self._pages(step) if step[3].get("pages") else self._answer(step))

    def _answer(self, step: Step, more: Iterable[tuple[str, str]] = ()) -> Any:
        _, _, body, options = step
        if not isinstance(body, bytes) and body is not None:
            body = json.loads(self.filled(json.dumps(body)))
            if "over" in options:
                body = merged(self.whole.get(self.filled(options["over"]), options["head"]), body)
        elif body is not None:
            body = self.filled(body.decode("latin-1")).encode("latin-1")
        query = [(key, self.filled(value)) for key, value in options.get("query", {}).items()]
        if "watch" in options.get("query", {}):
            # A list waits until the server's cache has all that was written; a watch tells what it has.
            self.api.request("GET", self.path(step[1]))
        try:
            reply = self._asked(step, body, [*query, *more])
        except http.client.RemoteDisconnected:
            return "no answer"
        if step[0] != "GET" and reply.status < 300 and self.admission is not None:
            self.admission.settle(self.path(step[1]))
        tree = _read(reply, is_watch="watch" in options.get("query", {}))
        if isinstance(tree, dict):
            self._remember(tree)
        return [reply.status, list(reply.warnings), tree]

    def _asked(self, step: Step, body: Any, query: list[tuple[str, str]]) -> Reply:
        method, path, _, options = step
        return self.api.request(
            method,
            self.path(path),
            body,
            query=query,
            content_type=options.get("type", "application/json"),
            accept=options.get("accept", "application/json"),
        )

    def _remember(self, tree: Tree) -> None:
        metadata = tree.get("metadata")
        if isinstance(metadata, dict) and "uid" in metadata and "resourceVersion" in metadata:
            label = f"{tree.get('kind')}/{metadata['name']}"
            self.first.setdefault(label, metadata)
            self.last[label] = metadata
            self.whole[label] = tree

    def remove(self) -> None:
        """What it made that is of no namespace: whoever lists all of these would find it."""
        for path in (one.path for one in SORTS if "/namespaces/NS/" not in path_of(one.path, "NS")):
            for tree in self.api.items(path):
                name = tree["metadata"]["name"]
                if not name.endswith(f"-{self.space}"):
                    continue
                if tree["metadata"].get("finalizers"):
                    self.api.merge(f"{path}/{name}", {"metadata": {"finalizers": None}})
                self.api.delete(f"{path}/{name}")

    def _pages(self, step: Step) -> list[Any]:
        """Every page, of what the sequence has made: what the server itself told meanwhile is taken away."""
        end = time.monotonic() + 60
        while True:
            pages = self._read_pages(step)
            repairs = [one for _, _, tree in pages for one in _repairs(tree)]
            if not repairs:
                return pages
            for one in repairs:
                self.api.delete(f"{self.path('C/events')}/{one['metadata']['name']}")
            if time.monotonic() > end:
                raise TimeoutError(f"the server goes on telling of addresses in {self.space}")

    def _read_pages(self, step: Step) -> list[Any]:
        pages: list[Any] = []
        more: list[tuple[str, str]] = []
        while len(pages) < 8:
            status, warnings, tree = self._answer(step, more)
            pages.append([status, warnings, tree])
            token = (tree.get("metadata") or {}).get("continue") if status == 200 else None
            if not token:
                break
            more = [("continue", token)]
        return pages


def _repairs(tree: Any) -> list[Tree]:
    items = tree.get("items") if isinstance(tree, dict) else None
    return [one for one in items or () if is_repair(one)]


def _read(reply: Reply, *, is_watch: bool = False) -> Any:
    """The answer's tree, the events of a watch, or its text."""
    try:
        if is_watch and reply.status == 200:
            events = [json.loads(line) for line in reply.body.splitlines() if line]
            return [event for event in events if event["type"] != "BOOKMARK"]
        return json.loads(reply.body)
    except ValueError:
        return reply.body.decode("utf-8", "replace")


_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def prepared(api: Api) -> None:
    """The custom kind of the sequences is served."""
    if api.request("GET", f"{_DEFINITIONS}/{DEFINITION['metadata']['name']}").status == 404:
        api.create(_DEFINITIONS, DEFINITION)
    end = time.monotonic() + 30
    while api.request("GET", "/apis/random.test/v1/namespaces/default/widgets").status != 200:
        if time.monotonic() > end:
            raise TimeoutError("widgets.random.test is not served")
        time.sleep(0.1)


def begun(api: Api, space: str, admission: Admission | None = None) -> Side:
    """A side with its namespace."""
    made = api.create("/api/v1/namespaces", {"metadata": {"name": space}})
    return Side(api, space, made["metadata"]["resourceVersion"], admission=admission)


class Plain:
    """Answers and events of one side without what differs by chance.

    Uids and drawn names become their number in the order of their appearance, versions of objects the count
    of versions seen up to them.
    """

    def __init__(self, side: Side) -> None:
        self._space = side.space
        self._numbers: dict[str, str] = {}
        versions: set[int] = set()
        _collect(side.answers, versions)
        _collect(list(side.told.values()), versions)
        self._versions = sorted(versions)

    def of(self, tree: Any) -> Any:
        if isinstance(tree, dict):
            tree = in_order(tree)
            return {self._text(key): self._field(key, tree[key]) for key in sorted(tree)}
        if isinstance(tree, list):
            items = [self.of(one) for one in tree if not is_not_ours(one)]
            is_owners = bool(items) and all(isinstance(one, dict) and "fieldsType" in one for one in items)
            return sorted(items, key=lambda one: json.dumps(one, sort_keys=True)) if is_owners else items
        return self._text(tree) if isinstance(tree, str) else tree

    def _field(self, key: str, value: Any) -> Any:
        if key in NOT_COMPARED_FIELDS and isinstance(value, str | int):
            return "SOME" if value else value
        if key == "resourceVersion" and isinstance(value, str) and value.isdecimal():
            return f"v{sum(one <= int(value) for one in self._versions)}"
        if key == "items" and isinstance(value, list) and _GENERATED.search(json.dumps(value)):
            value = sorted(value, key=lambda one: one["metadata"]["creationTimestamp"] + str(_version(one)))
        if key == "causes" and isinstance(value, list):
            # The real server runs some checks twice and tells both.
            value = [one for at, one in enumerate(value) if one not in value[:at]]
        return self.of(value)

    def _text(self, text: str) -> str:
        text = text.replace(self._space, "NS")
        for pattern in (_UID, _GENERATED):
            text = pattern.sub(self._number, text)
        for pattern, name in _PATTERNS:
            text = pattern.sub(name, text)
        return without_go(text)

    def _number(self, found: re.Match[str]) -> str:
        text = found.group()
        kind = "DRAWN" if text.startswith("drawn-") else "UID"
        return self._numbers.setdefault(text, f"{kind}-{len(self._numbers) + 1}")


def _version(tree: Tree) -> int:
    return int(tree["metadata"].get("resourceVersion", 0))


def _collect(tree: Any, versions: set[int]) -> None:
    """The versions of objects (not those of lists, which count what others wrote)."""
    if is_not_ours(tree):
        return
    if isinstance(tree, dict):
        if "uid" in tree and str(tree.get("resourceVersion", "")).isdecimal():
            versions.add(int(tree["resourceVersion"]))
        for value in tree.values():
            _collect(value, versions)
    elif isinstance(tree, list):
        for value in tree:
            _collect(value, versions)


def compared(mine: Side, real: Side, steps: Sequence[Step]) -> list[str]:
    """How the two sides of a sequence differ: answers, then watches."""
    here, there = Plain(mine), Plain(real)
    found: list[str] = []
    for number, (step, one, other) in enumerate(zip(steps, mine.answers, real.answers, strict=True)):
        lines = differences(here.of(one), there.of(other))
        method, path, body, options = step
        found += [f"{number} {method} {path} {str(body)[:300]} {options} {line}" for line in lines]
    for path, events in mine.told.items():
        lines = differences(here.of(events), there.of(real.told[path]))
        found += [f"watch of {path} {line}" for line in lines]
    return found


class Pair:
    """Both servers, and sequences on them."""

    def __init__(self, real: Api, mine: Api, *, at_once: int = 4) -> None:
        self.apis = (real, mine)
        self._at_once = at_once
        self._count = 0
        for api in self.apis:
            prepared(api)
        self._admission = Admission(real)
        self._marks = [Marks(api) for api in self.apis]

    def differences(self, sequences: Sequence[Sequence[Step]]) -> list[list[str]]:
        """For each sequence how the servers differ; each has a namespace of its own."""
        pairs: list[tuple[Side, Side, Sequence[Step]]] = []
        for steps in sequences:
            self._count += 1
            space = f"r{time.monotonic_ns() % 10**9:09d}x{self._count}"
            real, mine = begun(self.apis[0], space, self._admission), begun(self.apis[1], space)
            pairs.append((real, mine, steps))
        try:
            with ThreadPoolExecutor(self._at_once) as pool:
                runs = [pool.submit(side.run, steps) for one, other, steps in pairs for side in (one, other)]
                for run in runs:
                    run.result()
            self.hear([one for one, _, _ in pairs], [other for _, other, _ in pairs])
        finally:
            for real, mine, _ in pairs:
                real.remove()
                mine.remove()
        return [compared(mine, real, steps) for real, mine, steps in pairs]

    def remove(self) -> None:
        """What was made for all sequences and is of no namespace."""
        for marks in self._marks:
            marks.remove()
            marks.api.delete(f"{_DEFINITIONS}/{DEFINITION['metadata']['name']}")

    def hear(self, *sides: Sequence[Side]) -> None:
        """What watchers are told of the sides, those of the real server first."""
        with ThreadPoolExecutor(2 * len(SORTS)) as pool, ThreadPoolExecutor(2) as two:
            hears = [
                two.submit(hear, marks, some, pool) for marks, some in zip(self._marks, sides, strict=True)
            ]
            for heard in hears:
                heard.result()

    def smallest(self, steps: Sequence[Step]) -> tuple[list[Step], list[str]]:
        """The shortest prefix that differs, less what can be left out; and how it differs."""
        kept, told = list(steps), self.differences([steps])[0]
        if numbers := [int(line.split()[0]) for line in told if line[0].isdigit()]:
            kept = kept[: min(numbers) + 1]
            told = self.differences([kept])[0]
        for at in range(len(kept) - 2, -1, -1):
            less = kept[:at] + kept[at + 1 :]
            if lines := self.differences([less])[0]:
                kept, told = less, lines
        return kept, told
