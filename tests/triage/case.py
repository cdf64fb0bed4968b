"""One case: what the cluster held when a cause had been injected, and what the script says the cause is.

A folder `<row>-<slug>-<seed>` has `objects.json` (lists by collection, as `pods` or
`workloads.kueue.x-k8s.io`; a collection with an empty list is served), `case.json` (what is expected) and,
where the cause is told by output, `logs.json` (last lines by `namespace/pod/container`). `metrics.txt` is an
exposition where telemetry tells it. None is edited after recording.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from cockpit.catalogue import Cause
from cockpit.model.finding import Subject

Tree = dict[str, Any]

CASES = Path(__file__).parent / "cases"


class Recorded(msgspec.Struct, frozen=True):
    """Where the objects are from: `source` is a component and its version, or "fixture"."""

    source: str = msgspec.field(name="from")
    script: str
    seed: int

    @property
    def is_real(self) -> bool:
        """True where real components wrote the objects."""
        return self.source != "fixture"


class CaseFile(msgspec.Struct, frozen=True):
    """`case.json`. `names` are what the sentence must hold; `now` is epoch seconds of the look."""

    causes: tuple[str, ...]
    top: str
    also: tuple[str, ...]
    subject: Subject
    names: tuple[str, ...]
    now: float
    recorded: Recorded


class Case(msgspec.Struct, frozen=True):
    """One folder of the corpus, read. `denied` are collections that the reader may not list."""

    name: str
    file: CaseFile
    objects: Mapping[str, list[Tree]]
    logs: Mapping[str, list[str]] = {}
    metrics: str = ""
    denied: frozenset[str] = frozenset()


def case_file(raw: bytes) -> CaseFile:
    """`case.json` read. Raises msgspec.ValidationError where it is not one."""
    tree = json.loads(raw)
    subject = tree["subject"]
    tree["subject"] = (subject["kind"], subject["namespace"], subject["name"])
    return msgspec.convert(tree, CaseFile)


def read_case(folder: Path) -> Case:
    """The case in a folder. Raises OSError, ValueError or msgspec.ValidationError."""
    logs, metrics = folder / "logs.json", folder / "metrics.txt"
    return Case(
        name=folder.name,
        file=case_file((folder / "case.json").read_bytes()),
        objects=json.loads((folder / "objects.json").read_bytes()),
        logs=json.loads(logs.read_bytes()) if logs.exists() else {},
        metrics=metrics.read_text() if metrics.exists() else "",
    )


def report_case(tree: Tree, top: str, name: str = "report") -> Case:
    """What `cockpit why --report` wrote, as a case whose cause is `top`: somebody looked at the cluster."""
    file = case_file(json.dumps({**tree["case"], "top": top, "causes": [top]}).encode())
    return Case(name=f"{top}-{name}", file=file, objects=tree["objects"], logs=tree["logs"])


def read_cases(folder: Path = CASES) -> list[Case]:
    """All cases of a corpus, by row and name."""
    found = [read_case(one.parent) for one in folder.glob("*/case.json")]
    return sorted(found, key=lambda one: (row_order(one.file.top), one.name))


def row_order(row: str) -> int:
    """As in the catalogue."""
    return list(Cause).index(Cause(row))


def row_of(script: str) -> Cause:
    """The cause that a script injects, by which its name begins."""
    return max((one for one in Cause if script.startswith(f"{one}-")), key=len)


def write_case(case: Case, folder: Path = CASES) -> Path:
    """Write a new case; one object a line. Raises FileExistsError: what was recorded is not written over."""
    place = folder / case.name
    place.mkdir(parents=True)
    file = case.file
    tree = {
        **msgspec.to_builtins(file),
        "subject": file.subject._asdict(),
    }
    (place / "case.json").write_text(json.dumps(tree, indent=1) + "\n")
    (place / "objects.json").write_text(_by_line(case.objects))
    if case.logs:
        (place / "logs.json").write_text(json.dumps(case.logs, indent=1) + "\n")
    if case.metrics:
        (place / "metrics.txt").write_text(case.metrics)
    return place


def _by_line(objects: Mapping[str, Iterable[Tree]]) -> str:
    blocks = []
    for collection in sorted(objects):
        lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in objects[collection])
        blocks.append(f'"{collection}": [\n{lines}\n]' if lines else f'"{collection}": []')
    return "{" + ",\n".join(blocks) + "}\n"
