"""Who may name a pool owner: its own package, the registry, the decoders, and the embedded cluster."""

import re
from pathlib import Path

import pytest

from cockpit.pools import registry
from tests.unit.house.test_engines import named

ROOT = Path(__file__).resolve().parents[3]
NAMES = re.compile(
    r"karpenter|coreweave|node.?claim|machine_?deployment|machine_?set\b|cluster\.x-k8s\.io"
    r"|cluster.?api\b|cluster.?autoscaler|eks\.amazonaws|agentpool|gke-nodepool",
    re.IGNORECASE,
)
ALLOWED = (
    *("cockpit/pools/registry.py", "cockpit/kube/decode/", "cockpit/sim/", "cockpit/clouds/"),
    *("cockpit/kube/resource.py", "cockpit/k8s/labels.py"),
    "cockpit/local_state/command_profiles.py",  # commands of clouds, and the labels of their nodes
    "cockpit/catalogue/",  # its rows cite where each text was read
)
PACKAGES = frozenset(
    "cockpit/{}/{}/".format(*type(one).__module__.split(".")[1:3])
    for one in (*registry.owners(), registry.NODE_LABELS)
)


def test_no_file_but_its_package_the_registry_and_the_decoders_names_an_owner() -> None:
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
        for line, text in named(path.read_text(), NAMES)
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
        'def f():\n    """As the cluster autoscaler wants it."""',
    ],
)
def test_the_check_sees_an_offence(offence: str) -> None:
    assert list(named(offence, NAMES))


@pytest.mark.parametrize(
    "innocent",
    ['"""Words (source: karpenter pkg/apis/v1)."""', "autoscaler = machines = 1", "x = 1  # Karpenter"],
)
def test_the_check_lets_citations_and_other_words_pass(innocent: str) -> None:
    assert not list(named(innocent, NAMES))
