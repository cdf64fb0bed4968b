"""Who may name a queueing engine: its own package, the registry, the decoders, and the embedded cluster."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.gangs import registry

ROOT = Path(__file__).resolve().parents[3]
NAMES = re.compile(
    r"kueue|volcano|coscheduling|scheduler-plugins|scheduling\.x-k8s\.io|native.?gang|run\.ai"
    r"|(?<![a-z])kai(?![a-z])|yunikorn",
    re.IGNORECASE,
)
ALLOWED = (
    *("cockpit/gangs/registry.py", "cockpit/kube/decode/", "cockpit/kube/proto/", "cockpit/sim/"),
    "cockpit/kube/resource.py",
    "cockpit/catalogue/",  # its rows cite where each text was read
)
PACKAGES = tuple(f"cockpit/gangs/{one.__module__.split('.')[2]}/" for one in map(type, registry.engines()))
CITED = re.compile(r"\([Ss]ources?:[^)]*\)|Sources?: .*\Z", re.DOTALL)
"""A docstring may cite where a fact was read: `Source: kueue pkg/...`, the last of it, or in brackets."""


def named(source: str, names: re.Pattern[str] = NAMES) -> Iterator[tuple[int, str]]:
    """(line, text) of every identifier, text and docstring with such a name in it; citations are none."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        for text in _texts(node):
            said = CITED.sub("", text) if id(node) in docstrings else text
            if names.search(said):
                yield getattr(node, "lineno", 0), text


def _texts(node: ast.AST) -> list[str]:
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ImportFrom(module=module, names=names):
            return [module or "", *(one.name for one in names)]
        case ast.Import(names=names):
            return [one.name for one in names]
        case ast.alias(asname=str(name)) | ast.keyword(arg=str(name)):
            return [name]
    return []


def test_no_file_but_its_package_the_registry_and_the_decoders_names_an_engine() -> None:
    assert len(PACKAGES) == len(set(PACKAGES)) >= 5
    paths = [path for path in (ROOT / "cockpit").rglob("*.py") if not path.name.endswith("_pb2.py")]
    rooms = {str(path.relative_to(ROOT)): path for path in paths}
    assert len(rooms) > 300, "the walk found no code: the test would pass on nothing"
    found = [
        f"{name}:{line} {text[:60]!r}"
        for name, path in rooms.items()
        if not name.startswith((*ALLOWED, *PACKAGES))
        for line, text in named(path.read_text())
    ]
    assert found == []


def test_an_engine_names_no_other() -> None:
    """Each package is the only one that has its engine's names: what two would share belongs beside them."""
    words = {one.__class__.__module__.split(".")[2]: one.name for one in registry.engines()}
    found = [
        f"{path.relative_to(ROOT)}: {other}"
        for package in words
        for path in (ROOT / "cockpit" / "gangs" / package).rglob("*.py")
        for other in words
        if other != package and re.search(rf"cockpit\.gangs\.{other}\b", path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    "offence",
    [
        "from cockpit.gangs import kueue",
        "from cockpit.gangs.volcano import Volcano as engine",
        "is_kueue = True",
        "def touch(*, volcano): ...",
        "if job.engine == 'KAI': pass",
        "GROUP = 'scheduling.x-k8s.io/v1alpha1'",
        'f"this cluster has no Kueue {x}"',
        "place(kai_queue=1)",
        "class Native_Gang: ...",
        'def f():\n    """As Coscheduling wants it."""',
        "store.records(Kind.VOLCANO_JOB)",
    ],
)
def test_the_check_sees_an_offence(offence: str) -> None:
    assert list(named(offence))


@pytest.mark.parametrize(
    "innocent",
    [
        '"""Places count from 0 (source: kueue apis/visibility)."""',
        '"""Words.\n\nSource: kueue pkg/scheduler/scheduler.go.\n"""',
        "mikail = kaiser = 1",
        "x = 1  # kueue",
    ],
)
def test_the_check_lets_citations_and_other_words_pass(innocent: str) -> None:
    assert not list(named(innocent))
