"""Which programs the bed runs, from which pinned Go module each comes, and what is copied beside it."""

from dataclasses import dataclass, field
from pathlib import Path

from tests.bed.cache import content_key

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
    """One program: `folder` is its module under gomod/, `package` the tool directive's import path."""

    name: str
    folder: str
    package: str
    ldflags: str = _STRIP
    manifests: tuple[Manifests, ...] = field(default=())
    in_kubebuilder_assets: bool = False
    is_optional: bool = False  # built only when it is asked for; what needs it says so and is skipped

    @property
    def module_dir(self) -> Path:
        return GO_MODULES / self.folder

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


_SCHEDULER_PLUGINS = "sigs.k8s.io/scheduler-plugins"
_JOBSET = "sigs.k8s.io/jobset"

# The order is the order of building: what the contract suite needs first, the slowest last.
_ALL = (
    Binary("etcd", "etcd", "go.etcd.io/etcd/server/v3", in_kubebuilder_assets=True),
    _kubernetes("kube-apiserver", in_assets=True),
    _kubernetes("kubectl", in_assets=True),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kube-scheduler"),
    Binary("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    Binary(
        "mpi-operator",
        "mpi-operator",
        "github.com/kubeflow/mpi-operator/cmd/mpi-operator",
        manifests=(
            Manifests("github.com/kubeflow/mpi-operator", ("manifests/base/kubeflow.org_mpijobs.yaml",)),
        ),
    ),
    Binary(
        "kueue",
        "kueue",
        "sigs.k8s.io/kueue/cmd/kueue",
        # The visibility server's certificate folder is hard-coded; "hook" is relative to Kueue's cwd.
        ldflags=f"{_STRIP} -X sigs.k8s.io/kueue/pkg/visibility.certDir=hook",
        manifests=(
            Manifests(
                "sigs.k8s.io/kueue",
                (
                    "config/components/crd/bases/*.yaml",
                    "config/components/crd/patches/webhook_in_*.yaml",
                    "config/components/webhook/manifests.yaml",
                ),
            ),
        ),
    ),
)
# Engines beyond those that every run meets: half an hour of compiling on two cores where nothing is cached.
_OPTIONAL = (
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
)
BINARIES: dict[str, Binary] = {binary.name: binary for binary in (*_ALL, *_OPTIONAL)}
REQUIRED: tuple[str, ...] = tuple(binary.name for binary in _ALL)
