"""The parts of a bed in their order of starting, and the command line of each."""

import sys
from collections.abc import Callable
from pathlib import Path

from tests.bed import control_plane, controllers, engines, karpenter, telemetry
from tests.bed.layout import FORWARDED, Layout
from tests.bed.part import Part

ROOT = Path(__file__).resolve().parents[2]

_DESCRIBED: dict[str, Callable[[Layout], Part]] = {
    "etcd": control_plane.etcd,
    "apiserver": control_plane.apiserver,
    "kcm": control_plane.controller_manager,
    "scheduler": control_plane.scheduler,
    "kwok": control_plane.kwok,
    "kueue": controllers.kueue,
    "mpi": controllers.mpi_operator,
    "machines": controllers.machines,
    "exposition": telemetry.exposition,
    "prometheus": telemetry.prometheus,
    "pod-groups": engines.pod_group_controller,
    "coscheduling": engines.coscheduling_scheduler,
    "jobset": engines.jobset,
    "karpenter": karpenter.karpenter,
}
_WAVES: tuple[tuple[str, ...], ...] = (
    # kube-apiserver waits for etcd by itself.
    ("etcd", "apiserver", "gateway"),
    # What follows the first wave is set up (the CRDs, mostly) while these start: they need none of it.
    ("kcm", "scheduler", "kwok", "exposition"),
    ("kueue", "mpi", "prometheus", "machines", "pod-groups", "coscheduling", "jobset", "karpenter"),
)


def waves(layout: Layout) -> list[tuple[str, ...]]:
    """The parts of this bed; all of one wave start together, the next when they are ready."""
    wanted = {*layout.parts, *(("gateway",) if layout.forwarded_fds else ())}
    chosen = [tuple(name for name in wave if name in wanted) for wave in _WAVES]
    return [wave for wave in chosen if wave]


def describe(name: str, layout: Layout) -> Part:
    """How one part is started."""
    return _gateway(layout) if name == "gateway" else _DESCRIBED[name](layout)


def _gateway(layout: Layout) -> Part:
    descriptors = layout.forwarded_fds or {}
    pairs = [f"{descriptors[name]}:{layout.ports[name]}" for name in FORWARDED if name in descriptors]
    return Part(
        "gateway",
        (sys.executable, "-m", "tests.bed.gateway", *pairs),
        lambda: None,
        ROOT,
        pass_fds=tuple(descriptors.values()),
    )
