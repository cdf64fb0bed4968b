"""Which programs the bed runs, from which pinned Go module each comes, and what is copied beside it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.bed.cache import BedError, content_key

GO_MODULES = Path(__file__).parent / "gomod"
KUBERNETES_VERSION = "v1.36.3"
_STRIP = "-s -w"
_VERSION = "k8s.io/component-base/version"
# Without this kube-apiserver says v0.0.0-master at /version: only the release scripts set it.
_STAMPS = (f"gitVersion={KUBERNETES_VERSION}", "gitMajor=1", "gitMinor=36")
_KUBERNETES_FLAGS = " ".join((_STRIP, *(f"-X {_VERSION}.{stamp}" for stamp in _STAMPS)))


@dataclass(frozen=True)
class Manifests:
    """YAML files taken from a module's own folder, so that a cached bed needs no Go."""

    module: str
    patterns: tuple[str, ...]  # globs relative to the module's folder


@dataclass(frozen=True)
class Binary:
    """One program: `folder` is its module under gomod/, `package` the tool directive's import path.

    Two generations of a program have two names and one `program`, by which it is called.
    """

    name: str
    folder: str
    package: str
    ldflags: str = _STRIP
    manifests: tuple[Manifests, ...] = field(default=())
    in_kubebuilder_assets: bool = False
    is_optional: bool = False  # built only when it is asked for; what needs it says so and is skipped
    called: str = ""  # the program's own name, where it is not `name`

    @property
    def module_dir(self) -> Path:
        return GO_MODULES / self.folder

    @property
    def program(self) -> str:
        return self.called or self.name

    @property
    def key(self) -> str:
        """Changes with any pinned version and any link flag."""
        module = self.module_dir
        return content_key(
            (module / "go.mod").read_bytes(), (module / "go.sum").read_bytes(), self.ldflags.encode()
        )


def _kubernetes(name: str, *, in_assets: bool = False) -> Binary:
    return Binary(
        name,
        "kubernetes",
        f"k8s.io/kubernetes/cmd/{name}",
        ldflags=_KUBERNETES_FLAGS,
        in_kubebuilder_assets=in_assets,
    )


def _mpi_operator(version: str, *, is_optional: bool = False) -> Binary:
    module = "github.com/kubeflow/mpi-operator"
    return Binary(
        f"mpi-operator-{version}",
        f"mpi-operator-{version}",
        f"{module}/cmd/mpi-operator",
        manifests=(Manifests(module, ("manifests/base/kubeflow.org_mpijobs.yaml",)),),
        is_optional=is_optional,
        called="mpi-operator",
    )


def _kueue(version: str, *, is_optional: bool = False) -> Binary:
    components = "config/components"
    crds, hooks = f"{components}/crd", f"{components}/webhook/manifests.yaml"
    return Binary(
        f"kueue-{version}",
        f"kueue-{version}",
        "sigs.k8s.io/kueue/cmd/kueue",
        # The visibility server's certificate folder is hard-coded; "hook" is relative to Kueue's cwd.
        ldflags=f"{_STRIP} -X sigs.k8s.io/kueue/pkg/visibility.certDir=hook",
        manifests=(
            Manifests(
                "sigs.k8s.io/kueue", (f"{crds}/bases/*.yaml", f"{crds}/patches/webhook_in_*.yaml", hooks)
            ),
        ),
        is_optional=is_optional,
        called="kueue",
    )


_SCHEDULER_PLUGINS = "sigs.k8s.io/scheduler-plugins"
_JOBSET = "sigs.k8s.io/jobset"
_KARPENTER = "sigs.k8s.io/karpenter"

# The order is the order of building: what the contract suite needs first, the slowest last.
_ALL = (
    Binary("etcd", "etcd", "go.etcd.io/etcd/server/v3", in_kubebuilder_assets=True),
    _kubernetes("kube-apiserver", in_assets=True),
    _kubernetes("kubectl", in_assets=True),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kube-scheduler"),
    Binary("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    _mpi_operator("0.8"),
    _kueue("0.19"),
)
# Engines beyond those that every run meets: half an hour of compiling on two cores where nothing is cached.
_OPTIONAL = (
    _mpi_operator("0.6", is_optional=True),
    _kueue("0.15", is_optional=True),
    Binary(
        "sp-scheduler",
        "scheduler-plugins",
        f"{_SCHEDULER_PLUGINS}/cmd/scheduler",
        manifests=(Manifests(_SCHEDULER_PLUGINS, ("config/crd/bases/*.yaml",)),),
        is_optional=True,
    ),
    Binary(
        "sp-controller",
        "scheduler-plugins",
        f"{_SCHEDULER_PLUGINS}/cmd/controller",
        manifests=(Manifests(_SCHEDULER_PLUGINS, ("config/crd/bases/*.yaml",)),),
        is_optional=True,
    ),
    Binary(
        "jobset",
        "jobset",
        _JOBSET,
        manifests=(
            Manifests(
                _JOBSET,
                ("config/components/crd/bases/*.yaml", "config/components/webhook/manifests.yaml"),
            ),
        ),
        is_optional=True,
    ),
    Binary("helm", "helm", "helm.sh/helm/v3/cmd/helm", is_optional=True),
    Binary(
        "karpenter",
        "karpenter",
        f"{_KARPENTER}/kwok",  # its provider whose machines kwok plays
        manifests=(Manifests(_KARPENTER, ("kwok/charts/crds/*.yaml", "kwok/apis/crds/*.yaml")),),
        is_optional=True,
    ),
)
BINARIES: dict[str, Binary] = {binary.name: binary for binary in (*_ALL, *_OPTIONAL)}
REQUIRED: tuple[str, ...] = tuple(binary.name for binary in _ALL)

NEWER, OLDER = "newer", "older"
GENERATION_VARIABLE = "GPU_COCKPIT_ENGINES"
"""Says which generation a bed gets that does not name one itself."""
GENERATIONS: dict[str, dict[str, str]] = {
    # generation of the engines -> program -> which of BINARIES it is
    NEWER: {"kueue": "kueue-0.19", "mpi-operator": "mpi-operator-0.8"},
    OLDER: {"kueue": "kueue-0.15", "mpi-operator": "mpi-operator-0.6"},
}


def chosen_generation(environment: Mapping[str, str] | None = None) -> str:
    """What `GPU_COCKPIT_ENGINES` says, "newer" without it. Raises BedError for an unknown one."""
    name = (os.environ if environment is None else environment).get(GENERATION_VARIABLE) or NEWER
    if name not in GENERATIONS:
        known = " or ".join(GENERATIONS)
        raise BedError(f"{GENERATION_VARIABLE} {name!r} is no generation of engines: say {known}")
    return name


def binary_of(program: str, generation: str) -> str:
    """Which of `BINARIES` is the program in that generation of the engines."""
    return GENERATIONS[generation].get(program, program)
