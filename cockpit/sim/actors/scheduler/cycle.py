"""One scheduling cycle: a pod, the cache as it is, and the verdict in kube-scheduler's sentence."""

from collections.abc import Callable
from random import Random

from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.equivalence_cache import EquivalenceCache
from cockpit.sim.actors.scheduler.filters import Neighbours, SchedulingAttempt
from cockpit.sim.actors.scheduler.hints import DEVICE_PLUGIN
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.preemption import preempt
from cockpit.sim.actors.scheduler.verdict import (
    NO_CLAIMS,
    NO_NODES,
    Code,
    SchedulingResult,
    Status,
    histogram,
    none_of,
    plugins_of,
    unresolvable,
)

_NAMES_CLASH = unresolvable("NodeAffinity", "pod affinity terms conflict")
_OTHER_NODES = unresolvable("NodeAffinity", "node(s) didn't satisfy plugin(s) [NodeAffinity]")
_NO_STATE = "not found"
"""What PostFilter says after a PreFilter refused: dynamic resources find no state of their own and preemption
is not reached (seen on kube-scheduler 1.36)."""
Done = tuple[str, str | None, tuple[str, ...]]
"""What PostFilter says, the node that is being emptied, and its victims' uids (see `SchedulingResult`)."""
_NOTHING_DONE: Done = (_NO_STATE, None, ())


PostFilter = Callable[[SchedulingAttempt], Done]
"""What is tried when no node was found."""


def _claims_said(attempt: SchedulingAttempt) -> str:
    """What PostFilter of dynamic resources says once no node was found."""
    return NO_CLAIMS if attempt.around.devices.is_empty else "still not schedulable"


class Cycle:
    """Verdicts for pods on one cache.

    `always_post_filters`: as in the release that scheduler-plugins is built from, also where a PreFilter's
    refusal is final.
    """

    def __init__(self, cache: SchedulerCache, random: Random, *, always_post_filters: bool = False) -> None:
        self.cache = cache
        self._always_post_filters = always_post_filters
        self.random = random
        self.shapes = EquivalenceCache(cache, random)
        self.neighbours = Neighbours(cache)

    def decide(
        self, pod: PodInfo, post_filter: PostFilter | None = None, gang_refusal: Status | None = None
    ) -> SchedulingResult:
        """Where `pod` goes, or why it stays. `gang_refusal` is a PreFilter's of the profile's own plugin."""
        total = len(self.cache.nodes)
        if not total:
            return SchedulingResult(message=NO_NODES, nominated="")
        attempt = SchedulingAttempt(self.cache, self.shapes, self.neighbours, pod)
        refusal = gang_refusal or self._refusal(attempt)
        then = post_filter or (lambda tried: preempt(tried, self.random))
        if refusal is not None:
            return self._refused(attempt, refusal, then)
        remembered = (self.cache.version, pod.priority, pod.never_preempts, pod.nominated)
        plain = attempt.around.is_empty and pod.node_names is None and post_filter is None
        if plain and attempt.shape.refused == remembered:
            answer = attempt.shape.answer
            assert isinstance(answer, SchedulingResult)
            return answer
        node = attempt.find()
        if node:
            return SchedulingResult(node=node)
        parts = histogram(attempt.counts, attempt.outside, _OTHER_NODES.reasons[0])
        said, nominated, victims = then(attempt)
        verdict = SchedulingResult(
            message=none_of(total, parts, f"{_claims_said(attempt)}, {said}" if said else ""),
            plugins=plugins_of(attempt.counts),
            nominated=nominated,
            victims=victims,
        )
        if plain and not nominated:
            attempt.shape.refused, attempt.shape.answer = remembered, verdict
        return verdict

    def _refusal(self, attempt: SchedulingAttempt) -> Status | None:
        if attempt.pod.node_names is not None and not attempt.pod.node_names:
            return _NAMES_CLASH
        return attempt.around.needs.refusal or attempt.around.devices.refusal

    def _refused(
        self, attempt: SchedulingAttempt, refusal: Status, post_filter: PostFilter
    ) -> SchedulingResult:
        """A PreFilter's refusal stands for every node."""
        total = len(self.cache.nodes)
        attempt.counts = {refusal: total}
        attempt.failed = dict.fromkeys(self.cache.nodes, refusal)
        said, nominated, victims = _NOTHING_DONE
        if self._always_post_filters or refusal.code is Code.UNSCHEDULABLE:
            said, nominated, victims = post_filter(attempt)
        elif refusal.plugin == DEVICE_PLUGIN:
            said, nominated, victims = post_filter(attempt)
            said = f"{NO_CLAIMS}, {said}"
        return SchedulingResult(
            message=none_of(total, f" {', '.join(refusal.reasons)}.", said),
            plugins=frozenset({refusal.plugin}),
            nominated=nominated,
            victims=victims,
        )
