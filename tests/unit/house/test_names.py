"""One name, one thing: a class is found by its name."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("cockpit", "widgets/cockpit_widgets", "exporter/cockpit_exporter")


def sources(rooms: Iterable[Path]) -> list[Path]:
    """The Python files of these folders, but for generated ones."""
    found = [path for room in rooms for path in sorted(room.rglob("*.py"))]
    return [path for path in found if not path.name.endswith("_pb2.py")]


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


def test_one_class_name_means_one_thing_in_the_product_and_its_embedded_cluster() -> None:
    found = sources([ROOT / room for room in ROOMS])
    assert len(public_classes(found)) > 900, "the walk found no classes: the test would pass on nothing"
    assert twice(found) == set()


def test_a_class_name_given_twice_is_seen(tmp_path: Path) -> None:
    (tmp_path / "pump.py").write_text("class Place: ...\nclass _Own: ...\n")
    (tmp_path / "other.py").write_text("class Other: ...\nclass _Own: ...\n")
    assert twice(sources([tmp_path])) == set()
    (tmp_path / "other.py").write_text("def made():\n    class Place: ...\n")
    assert twice(sources([tmp_path])) == {"Place"}
