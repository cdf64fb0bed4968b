"""One scheduling cycle: a pod, the world as it is, and the verdict in kube-scheduler's sentence."""

from collections.abc import Callable
from random import Random

from cockpit.sim.actors.scheduler.attempt import Attempt, Neighbours
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.preemption import preempt
from cockpit.sim.actors.scheduler.shapes import Shapes
from cockpit.sim.actors.scheduler.verdict import (
    NO_CLAIMS,
    NO_NODES,
    WORDS_1_36,
    Code,
    Status,
    Verdict,
    Words,
    histogram,
    none_of,
    plugins_of,
    unresolvable,
)
from cockpit.sim.actors.scheduler.world import World

_NAMES_CLASH = unresolvable("NodeAffinity", "pod affinity terms conflict")
_OTHER_NODES = unresolvable("NodeAffinity", "node(s) didn't satisfy plugin(s) [NodeAffinity]")
_NO_STATE = "not found"
"""What PostFilter says after a PreFilter refused: dynamic resources find no state of their own and preemption
is not reached (seen on kube-scheduler 1.36)."""
Done = tuple[str, str | None, tuple[str, ...]]
"""What PostFilter says, the node that is being emptied, and its victims' uids (see `Verdict`)."""
_NOTHING_DONE: Done = (_NO_STATE, None, ())


PostFilter = Callable[[Attempt], Done]
"""What is tried when no node was found."""


class Cycle:
    """Verdicts for pods on one world."""

    def __init__(self, world: World, random: Random, words: Words = WORDS_1_36) -> None:
        self.world = world
        self.words = words
        self.random = random
        self.shapes = Shapes(world, words, random)
        self.neighbours = Neighbours(world)

    def decide(
        self, pod: PodInfo, post_filter: PostFilter | None = None, gang_refusal: Status | None = None
    ) -> Verdict:
        """Where `pod` goes, or why it stays. `gang_refusal` is a PreFilter's of the profile's own plugin."""
        total = len(self.world.nodes)
        if not total:
            return Verdict(message=NO_NODES, nominated="")
        attempt = Attempt(self.world, self.shapes, self.neighbours, pod, self.words)
        refusal = gang_refusal or self._refusal(attempt)
        then = post_filter or (lambda tried: preempt(tried, self.random))
        if refusal is not None:
            return self._refused(attempt, refusal, then)
        remembered = (self.world.version, pod.priority, pod.never_preempts, pod.nominated)
        plain = attempt.around.is_empty and pod.node_names is None and post_filter is None
        if plain and attempt.shape.refused == remembered:
            answer = attempt.shape.answer
            assert isinstance(answer, Verdict)
            return answer
        node = attempt.find()
        if node:
            return Verdict(node=node)
        parts = histogram(attempt.counts, attempt.outside, _OTHER_NODES.reasons[0])
        said, nominated, victims = then(attempt)
        verdict = Verdict(
            message=none_of(total, parts, self._after(said)),
            plugins=plugins_of(attempt.counts),
            nominated=nominated,
            victims=victims,
        )
        if plain and not nominated:
            attempt.shape.refused, attempt.shape.answer = remembered, verdict
        return verdict

    def _after(self, said: str) -> str:
        if not said or not self.words.has_claims:
            return said
        return f"{NO_CLAIMS}, {said}"

    def _refusal(self, attempt: Attempt) -> Status | None:
        if attempt.pod.node_names is not None and not attempt.pod.node_names:
            return _NAMES_CLASH
        return attempt.around.needs.refusal

    def _refused(self, attempt: Attempt, refusal: Status, post_filter: PostFilter) -> Verdict:
        """A PreFilter's refusal stands for every node."""
        total = len(self.world.nodes)
        attempt.counts = {refusal: total}
        attempt.failed = dict.fromkeys(self.world.nodes, refusal)
        said, nominated, victims = _NOTHING_DONE
        if not self.words.has_claims or refusal.code is Code.UNSCHEDULABLE:
            said, nominated, victims = post_filter(attempt)
        return Verdict(
            message=none_of(total, f" {', '.join(refusal.reasons)}.", said),
            plugins=frozenset({refusal.plugin}),
            nominated=nominated,
            victims=victims,
        )
