"""One name, one thing: classes and modules are found by the word that a reader would search for."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("cockpit", "widgets/cockpit_widgets", "exporter/cockpit_exporter")

OLD = frozenset(
    [
        "actions/again",
        "actions/anew",
        "actions/doubts",
        "actions/fresh",
        "actions/ground",
        "actions/hold",
        "actions/offers",
        "actions/same",
        "actions/sweep",
        "commands/ask",
        "commands/choose",
        "commands/paper",
        "fit/company",
        "fit/domains",
        "fit/looks",
        "fit/pushing",
        "fit/scene",
        "fit/together",
        "gangs/detect",
        "gangs/detection",
        "gangs/pairs",
        "gangs/presence",
        "jobs/judge",
        "jobs/root",
        "keep",
        "kube/decode/alike",
        "kube/decode/nodes_alike",
        "kube/intake",
        "kube/ending",
        "kube/log_crowd",
        "kube/pace",
        "kube/pump",
        "kube/teller",
        "screens/looks",
        "telemetry/heard",
        "telemetry/held",
        "telemetry/lean",
        "telemetry/look",
        "telemetry/normalise",
        "telemetry/past",
        "telemetry/quick",
        "telemetry/quick_times",
        "sim/actors/scheduler/attempt",
        "sim/actors/scheduler/intake",
        "sim/actors/scheduler/shapes",
        "sim/actors/scheduler/telling",
        "sim/actors/scheduler/world",
    ]
)
"""Modules that got the field's word for what they are; none of them returns."""

WORDS = frozenset(
    [
        "_teller",
        "_world",
        "Company",
        "Crowd",
        "Held",
        "Holding",
        "JobLooks",
        "PodLooks",
        "Pump",
        "Scene",
        "Teller",
        "company",
        "crowd",
        "estate",
        "gpus_held",
        "held_ratio",
        "held_unknown",
        "holds_gpus",
        "idle_held",
        "is_held",
        "scene",
        "shares_held",
        "teller",
        "world",
    ]
)
"""Names that got the field's words: allocated, suspended, throttled, cache, snapshot, batcher, affinity."""


def sources(rooms: Iterable[Path]) -> list[Path]:
    """The Python files of these folders, but for generated ones."""
    found = [path for room in rooms for path in sorted(room.rglob("*.py"))]
    return [one for one in found if not one.name.endswith("_pb2.py")]


def public_classes(paths: Iterable[Path]) -> dict[str, list[Path]]:
    """Where each public class stands."""
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path)
    return found


def twice(paths: Iterable[Path]) -> set[str]:
    """Class names that stand more than once."""
    return {name for name, places in public_classes(paths).items() if len(places) > 1}


def private_words(path: Path) -> set[str]:
    """Names of that list that this file gives or uses."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg | ast.keyword):
            found.add(node.arg or "")
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return found & WORDS


def returned(package: Path, old: Iterable[str]) -> list[str]:
    """Modules and packages of the old names."""
    return [
        one for one in old if (package / f"{one}.py").exists() or (package / one / "__init__.py").exists()
    ]


def test_one_class_name_means_one_thing_in_the_product_and_its_embedded_cluster() -> None:
    found = sources([ROOT / room for room in ROOMS])
    assert len(public_classes(found)) > 900, "the walk found no classes: the test would pass on nothing"
    assert twice(found) == set()


def test_no_module_of_an_old_name_returns() -> None:
    assert returned(ROOT / "cockpit", OLD) == []


def test_no_private_word_returns() -> None:
    found = {path: private_words(path) for path in sources([ROOT / room for room in ROOMS])}
    assert {str(path): words for path, words in found.items() if words} == {}


def test_every_rule_sees_an_offence(tmp_path: Path) -> None:
    (tmp_path / "cockpit" / "kube").mkdir(parents=True)
    (tmp_path / "cockpit" / "kube" / "pump.py").write_text("class Place: ...\nclass _Own: ...\n")
    (tmp_path / "cockpit" / "other.py").write_text("class Other: ...\nclass _Own: ...\n")
    rooms = [tmp_path / "cockpit"]
    assert twice(sources(rooms)) == set()
    (tmp_path / "cockpit" / "other.py").write_text("def made():\n    class Place: ...\n")
    assert twice(sources(rooms)) == {"Place"}
    assert returned(tmp_path / "cockpit", OLD) == ["kube/pump"]
    (tmp_path / "words.py").write_text("class Scene: ...\ndef f(world): return world.gpus_held\n")
    assert private_words(tmp_path / "words.py") == {"Scene", "world", "gpus_held"}
