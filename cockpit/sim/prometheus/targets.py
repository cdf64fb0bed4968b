"""What the embedded Prometheus scrapes: each node's exporter, and each kubelet's cAdvisor.

Labels are those of a scrape with `honor_labels`: the page's own, with `job` and `instance` added.
"""

from collections.abc import Iterable, Iterator

from cockpit.sim.actors.gpus.fleet import GpuFleet
from cockpit.sim.actors.kubelet.actor import Kubelets
from cockpit.sim.actors.kubelet.metrics import CADVISOR_NAMES, cadvisor_samples
from cockpit.sim.prometheus.promql import Selector

Scraped = tuple[str, Iterable[tuple[str, str]], float]
_MOST_TURNS = 64
_HOST_LABELS = ("Hostname", "hostname", "node")
_NEVER_OF_KUBELETS = ("exported_pod", "exported_namespace", "Hostname", "hostname", "pod_name", "kube_pod")
_POD_LABELS = (("pod", "namespace"), ("exported_pod", "exported_namespace"), ("pod_name", "pod_namespace"))


class Silences:
    """Which nodes did not answer from when to when."""

    def __init__(self) -> None:
        self._turns: dict[str, list[tuple[float, bool]]] = {}

    def turn(self, node: str, at_seconds: float, *, is_silent: bool) -> None:
        """From then on it does not answer, or answers again."""
        turns = self._turns.setdefault(node, [])
        turns.append((at_seconds, is_silent))
        del turns[:-_MOST_TURNS]

    def is_silent(self, node: str, at_seconds: float) -> bool:
        """Whether it answered a scrape of that moment."""
        before = [is_silent for at, is_silent in self._turns.get(node, ()) if at <= at_seconds]
        return bool(before) and before[-1]


class ExporterTargets:
    """The exporters of all nodes that have one."""

    def __init__(self, fleet: GpuFleet, silences: Silences) -> None:
        self._fleet = fleet
        self._silences = silences

    def scrape(self, at_seconds: float, selector: Selector) -> Iterator[Scraped]:
        """As `Target.scrape`."""
        for node in self._fleet.scraped_nodes(at_seconds):
            if self._silences.is_silent(node, at_seconds):
                continue
            added = (("instance", f"{node}:9400"), ("job", "dcgm-exporter"))
            if not self._may_tell(selector, node) or not _may_be(selector, added):
                continue
            for name, labels, value in self._fleet.samples(node, at_seconds, selector.names):
                yield name, (*added, *labels), value

    def _may_tell(self, selector: Selector, node: str) -> bool:
        """False where no series of this page can be meant: cards need not be moved for it."""
        if not selector.names.has_any(self._fleet.metric_names(node)):
            return False
        if not all(selector.may_have(one, node) or selector.may_have(one, "") for one in _HOST_LABELS):
            return False
        for pod, namespace in _POD_LABELS:
            if not selector.may_have(pod, "") and not (
                pod == "pod"
                and any(
                    selector.may_have(pod, name) and selector.may_have(namespace, space)
                    for space, name in self._fleet.pods_of(node)
                )
            ):
                return False
        return True


class KubeletTargets:
    """The kubelets of all nodes. What a process used before is not known: only simulated pods are told."""

    def __init__(self, kubelets: Kubelets, silences: Silences) -> None:
        self._kubelets = kubelets
        self._silences = silences

    def scrape(self, at_seconds: float, selector: Selector) -> Iterator[Scraped]:
        """As `Target.scrape`."""
        is_meant = selector.names.has_any(CADVISOR_NAMES)
        if not is_meant or not all(selector.may_have(label, "") for label in _NEVER_OF_KUBELETS):
            return
        for run in list(self._kubelets.pods.values()):
            is_meant = selector.may_have("pod", run.name) and selector.may_have("namespace", run.namespace)
            if not is_meant or run.is_local or self._silences.is_silent(run.node, at_seconds):
                continue
            added = (("instance", f"{run.node}:10250"), ("job", "kubelet"), ("node", run.node))
            if _may_be(selector, added):
                for name, labels, value in cadvisor_samples(run, at_seconds):
                    if name in selector.names:
                        yield name, (*added, *labels), value


def _may_be(selector: Selector, added: Iterable[tuple[str, str]]) -> bool:
    return all(selector.may_have(label, value) for label, value in added)
