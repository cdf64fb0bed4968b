"""Who may name a pool owner: its own package, the registry, the decoders, and the embedded cluster."""

import ast
import inspect
import re
import textwrap
from pathlib import Path

import pytest

from cockpit.pools import owner as capabilities
from cockpit.pools import registry
from tests.unit.house.test_engines import named

ROOT = Path(__file__).resolve().parents[3]
NAMES = re.compile(
    r"karpenter|coreweave|node.?claim|machine_?deployment|machine_?set\b|cluster\.x-k8s\.io"
    r"|cluster.?api\b|cluster.?autoscaler|eks\.amazonaws|agentpool|gke-nodepool",
    re.IGNORECASE,
)
FIELDS = re.compile(
    r"consolidat(?:eAfter|able|ionPolicy)|nodeClassRef|targetNodes|\bdesired(?:Size|Capacity)\b|scalingConfig"
    r"|safe-to-evict|scale-down-disabled|DeletionCandidate|delete-machine|limits\.nodes"
    r"|\b(?:NodePool|MachinePool|NodeGroup)\b"
)
"""Kinds and fields of owners' objects, and marks that they leave."""
ALLOWED = (
    *("cockpit/pools/registry.py", "cockpit/kube/decode/", "cockpit/sim/", "cockpit/clouds/"),
    *("cockpit/kube/resource.py", "cockpit/k8s/labels.py"),
    "cockpit/catalogue/",  # its rows cite where each text was read
)
PACKAGES = frozenset(
    "cockpit/{}/{}/".format(*type(one).__module__.split(".")[1:3])
    for one in (*registry.owners(), registry.NODE_LABELS)
)


@pytest.mark.parametrize("words", [NAMES, FIELDS], ids=["names", "fields"])
def test_no_file_but_its_package_the_registry_and_the_decoders_names_an_owner(words: re.Pattern[str]) -> None:
    assert len(PACKAGES) >= 5
    rooms = {
        str(path.relative_to(ROOT)): path
        for path in (ROOT / "cockpit").rglob("*.py")
        if not path.name.endswith("_pb2.py")
    }
    assert len(rooms) > 300, "the walk found no code: the test would pass on nothing"
    found = [
        f"{name}:{line} {text[:60]!r}"
        for name, path in rooms.items()
        if not name.startswith((*ALLOWED, *PACKAGES))
        for line, text in named(path.read_text(), words)
    ]
    assert found == []


def test_an_owner_imports_no_other() -> None:
    """What two would share belongs beside them."""
    found = [
        f"{path.relative_to(ROOT)}: {other}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for other in PACKAGES
        if other != package and other.rstrip("/").replace("/", ".") + " " in path.read_text() + " "
    ]
    assert found == []


def _own_members(ability: type) -> list[str]:
    named_ = {*vars(ability), *inspect.get_annotations(ability)}
    return [one for one in named_ if not one.startswith("_")]


ABILITIES = [
    one
    for one in vars(capabilities).values()
    if isinstance(one, type)
    and one.__module__ == capabilities.__name__
    and getattr(one, "_is_protocol", False)
]


@pytest.mark.parametrize("ability", ABILITIES, ids=lambda one: one.__name__)
def test_an_ability_is_small_and_has_no_body_of_its_own(ability: type) -> None:
    assert 1 <= len(_own_members(ability)) <= 7
    tree = ast.parse(textwrap.dedent(inspect.getsource(ability)))
    bodies = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    assert [one.name for one in bodies if len(one.body) != 1 or not isinstance(one.body[0], ast.Expr)] == []


@pytest.mark.parametrize("owner", [*registry.owners(), registry.NODE_LABELS], ids=lambda one: one.traits.name)
def test_an_owner_implements_whole_what_it_lists(owner: capabilities.PoolOwner) -> None:
    listed = [one for one in ABILITIES if one in type(owner).__mro__]
    assert len(ABILITIES) >= 12 and capabilities.PoolOwner in listed
    lacks = [
        f"{one.__name__}.{name}"
        for one in listed
        for name in _own_members(one)
        if getattr(type(owner), name, None) is vars(one).get(name, None)
    ]
    assert lacks == []


@pytest.mark.parametrize(
    "offence",
    [
        "from cockpit.pools import karpenter",
        "from cockpit.pools.cluster_api import ClusterApi as owner",
        "is_karpenter = True",
        "def touch(*, machine_deployment): ...",
        "if pool.kind == 'MachineDeployment': pass",
        "GROUP = 'compute.coreweave.com'",
        "TAINT = 'ToBeDeletedByClusterAutoscaler'",
        'f"no NodeClaim of {x}"',
        'SIZES = ("f:targetNodes",)',
        'f"{x} says consolidateAfter Never"',
        'def f():\n    """As the cluster autoscaler wants it."""',
    ],
)
def test_the_check_sees_an_offence(offence: str) -> None:
    assert list(named(offence, NAMES)) or list(named(offence, FIELDS))


@pytest.mark.parametrize(
    "innocent",
    ['"""Words (source: karpenter pkg/apis/v1)."""', "autoscaler = machines = 1", "x = 1  # Karpenter"],
)
def test_the_check_lets_citations_and_other_words_pass(innocent: str) -> None:
    assert not list(named(innocent, NAMES))
