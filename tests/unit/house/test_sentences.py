"""Facts stay facts: a sentence is made last, and no code reads one back."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
APART = ("cockpit/kube/", "cockpit/sim/")
"""The edge where Kubernetes' own texts are read, and the embedded cluster, which writes such texts."""
FOREIGN = {
    "cockpit/gangs/coscheduling/__init__.py": "messages of scheduler-plugins",
    "cockpit/gangs/kai/__init__.py": "messages of KAI's conditions",
    "cockpit/gangs/kueue/line.py": "messages of Kueue's conditions",
    "cockpit/gangs/kueue/queue_state.py": "messages of Kueue's conditions",
    "cockpit/gangs/kueue/quota.py": "messages of Kueue's conditions",
    "cockpit/gangs/kueue/texts.py": "messages of Kueue's conditions",
    "cockpit/gangs/kueue/verdict.py": "messages of Kueue's conditions",
    "cockpit/gangs/kueue/waiting.py": "messages of Kueue's conditions",
    "cockpit/gangs/scheduler.py": "messages of kube-scheduler",
    "cockpit/k8s/evictions.py": "messages of the kubelet",
    "cockpit/k8s/field_errors.py": "messages of validation",
    "cockpit/k8s/pod_security.py": "messages of Pod Security admission",
    "cockpit/pools/cluster_autoscaler/texts.py": "messages of cluster-autoscaler's events",
    "cockpit/pools/karpenter/keepers.py": "messages of Karpenter's events",
    "cockpit/jobs/values.py": "what Python says about unclosed quotes",
    "cockpit/jobs/yaml_document.py": "what PyYAML says about a file, its first line",
}
"""Parsers of texts that others write."""
SPOKEN = {"sentence", "message", "remedy", "verdict", "problem", "title"}
SPOKEN_ATTRIBUTES = SPOKEN | {"why", "text", "told", "said", "fault"}
CUTS = {
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "split",
    "rsplit",
    "partition",
    "rpartition",
}
CUTS |= {"find", "rfind", "index", "replace", "count"}
PATTERNS = {"search", "match", "fullmatch", "findall", "finditer", "sub"}


def _is_spoken(node: ast.expr) -> bool:
    """Whether an expression is a sentence, as far as its name tells."""
    if isinstance(node, ast.Attribute):
        return node.attr in SPOKEN_ATTRIBUTES
    if isinstance(node, ast.Name):
        return node.id in SPOKEN
    if isinstance(node, ast.Call):
        makes_text = isinstance(node.func, ast.Name) and node.func.id == "str" and bool(node.args)
        if makes_text and isinstance(node.args[0], ast.Name):
            return node.args[0].id in ("error", "exception")
        return isinstance(node.func, ast.Attribute) and _is_spoken(node.func.value)  # sentence.lower()
    return isinstance(node, ast.Subscript) and _is_spoken(node.value)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""
    )


def _is_number(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _reads(node: ast.AST) -> bool:
    """Whether a node takes a sentence apart, looks into it or compares it with words."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in CUTS and _is_spoken(node.func.value):
            return True
        return node.func.attr in PATTERNS and any(map(_is_spoken, node.args))
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(operator, ast.In | ast.NotIn) and _is_spoken(right):
                return True
            is_quoted = (_is_spoken(left) and _is_text(right)) or (_is_text(left) and _is_spoken(right))
            if isinstance(operator, ast.Eq | ast.NotEq) and is_quoted:
                return True
    if isinstance(node, ast.Subscript) and _is_spoken(node.value):
        bounds = [node.slice.lower, node.slice.upper] if isinstance(node.slice, ast.Slice) else [node.slice]
        return any(map(_is_number, bounds))
    return False


def _offences(text: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(text)):
        if _reads(node):
            assert isinstance(node, ast.expr)
            yield node.lineno


def _found() -> dict[str, list[int]]:
    names = {str(path.relative_to(ROOT)): path for path in (ROOT / "cockpit").rglob("*.py")}
    assert len(names) > 300, "the walk found no code: the test would pass on nothing"
    rooms = {name: path for name, path in names.items() if not name.startswith(APART)}
    looked = {name: [*_offences(path.read_text())] for name, path in rooms.items()}
    return {name: lines for name, lines in looked.items() if lines}


def test_no_sentence_is_read_back() -> None:
    assert {name: lines for name, lines in _found().items() if name not in FOREIGN} == {}


def test_each_parser_of_foreign_texts_still_is_one() -> None:
    assert sorted(FOREIGN.keys() - _found().keys()) == []


@pytest.mark.parametrize(
    "code",
    [
        'is_moved = outcome.sentence.endswith("look again")',
        'tone = "bad" if error.sentence.startswith("server: refused") else ""',
        'if "not found" in error.sentence: pass',
        'if "x" not in sentence.lower(): pass',
        "words = one.sentence.removeprefix(one.engine)",
        "found = _CONFLICT.search(sentence)",
        'found = re.search(r"x", status.message)',
        'part = remedy.split("  ")',
        "part = ecc_cell(detail).text[2:]",
        "glyph = cell.text[0]",
        'if job.why == "queued": pass',
        'if "quotation" in str(error): pass',
        'if offer.told.startswith("denied"): pass',
        'verb, _, rest = plan.title.partition(" ")',
    ],
)
def test_the_check_sees_an_offence(code: str) -> None:
    assert [*_offences(code)] == [1]


@pytest.mark.parametrize(
    "code",
    [
        'print(f"cockpit: {error.sentence}")',
        "if error.said.is_gone: pass",
        'if status.reason == "Conflict": pass',
        "if not outcome.sentence: pass",
        'if job.why != "": pass',
        "short = sentence[:longest]",
        "if name in text: pass",
    ],
)
def test_the_check_leaves_what_is_no_reading_back(code: str) -> None:
    assert [*_offences(code)] == []
