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
API = re.compile(
    r"resourceGroups|coveredResources|nominalQuota|StrictFIFO|BestEffortFIFO|queueingStrategy|stopPolicy"
    r"|HoldAndDrain|admissionChecks|admission-gated-by|podset-|topologyName|pendingworkloads|ResourceFlavor"
    r"|WorkloadPriorityClass|clusterqueues?|localqueues?|minMember|schedulingGroup|podGroupName"
)
"""Kinds, fields and values of the engines' APIs. `LocalQueue` and `ClusterQueue` are records of the model."""
API_ELSEWHERE = {
    "cockpit/k8s/admission/": "rules of quota that the embedded cluster plays, too",
    "cockpit/kube/": "what is watched, by its path",
    "cockpit/model/record.py": "names of the store's tables",
    "cockpit/local_state/redact_objects.py": "which fields of a report are kept",
    "cockpit/actions/kind_words.py": "kinds as a person types them",
    "cockpit/actions/subjects.py": "queues as a person types them",
    "cockpit/actions/queue.py": "queues as a person types them",
    "cockpit/actions/named_objects.py": "whether a queue is stopped, in the object as the server has it",
    "cockpit/screens/verb_forms.py": "how a queue is stopped, for the choice of what else can be done",
    "cockpit/triage/creation.py": "the reason of an event",
}
"""What else has one of those words, and why."""
PACKAGES = tuple(
    f"cockpit/gangs/{path.name}/"
    for path in (ROOT / "cockpit/gangs").iterdir()
    if (path / "__init__.py").exists()
)
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
    assert len(PACKAGES) == len(registry.engines())
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


def values(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every text but docstrings that has a word of an engine's API."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docstrings and API.search(text):
                yield node.lineno, text


def test_no_file_but_its_package_knows_kinds_and_fields_of_an_engines_api() -> None:
    rooms = {str(path.relative_to(ROOT)): path for path in (ROOT / "cockpit").rglob("*.py")}
    found = {
        name: [f"{name}:{line} {text[:60]!r}" for line, text in values(path.read_text())]
        for name, path in rooms.items()
        if not name.startswith((*PACKAGES, "cockpit/sim/", "cockpit/catalogue/"))
    }
    left = [
        each for name, lines in found.items() if not name.startswith(tuple(API_ELSEWHERE)) for each in lines
    ]
    assert left == []
    unused = [
        place for place in API_ELSEWHERE if not any(found[name] for name in found if name.startswith(place))
    ]
    assert unused == [], "these need no place in the list any more"


def test_an_engine_names_no_other() -> None:
    """Each package is the only one that has its engine's names: what two would share belongs beside them."""
    words = [Path(package).name for package in PACKAGES]
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
    "offence",
    [
        'x = spec["resourceGroups"]',
        'if queue.strategy == "StrictFIFO": pass',
        'json_patch(("clusterqueue", x))',
    ],
)
def test_the_check_of_fields_sees_an_offence(offence: str) -> None:
    assert list(values(offence))
    assert not list(values(f'"""Of {API.pattern[:14]}."""'))


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
