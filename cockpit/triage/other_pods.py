"""Pods that keep others off nodes, or are missed beside them: affinity and anti-affinity."""

from collections.abc import Sequence

from cockpit.catalogue.cause import Cause
from cockpit.fit.inter_pod_affinity import concerns
from cockpit.gangs.draft import draft
from cockpit.gangs.sentence import counted
from cockpit.model.finding import Finding, Subject
from cockpit.triage.context import Context
from cockpit.triage.funnel import Sifted


def of_company(sifted: Sifted, context: Context) -> Finding:
    """Which pods, by the labels of the term that keeps it off."""
    looks = sifted.dropped["company"]
    kinds = [block.kind for look in looks for block in look.blocks]
    shape = sifted.shape
    count = counted(len(looks), "node")
    if "pod_affinity" in kinds and shape.near:
        words = f"{count} lack the pods that it wants beside it: {{term}}"
        return draft(Cause.POD_AFFINITY, words, names={"term": _term_words(shape.near)})
    if "pod_anti_affinity" in kinds and shape.keeps_away:
        words = f"its anti-affinity to {{term}} leaves none of {count}"
        return draft(Cause.POD_AFFINITY, words, names={"term": _term_words(shape.keeps_away)})
    labels = dict(shape.labels)
    for other in context.store.restrictive_pods():
        minded = [one for one in other.traits.keeps_away if concerns(one, shape.namespace, labels, {})]
        if minded and other.node and not other.is_finished:
            words = f"{{other}} and its like keep it off {count}: anti-affinity to {{term}}"
            names = {"other": other.name, "term": _term_words(minded)}
            return draft(
                Cause.POD_AFFINITY, words, names=names, root=Subject("pod", other.namespace, other.name)
            )
    return draft(Cause.POD_AFFINITY, f"pods with anti-affinity keep it off {count}")


def _term_words(terms: Sequence[object]) -> str:
    words = []
    for term in terms:
        selector = getattr(term, "selector", None) or ()
        labels = ", ".join(
            f"{one.key}={one.values[0]}" if one.operator == "In" and len(one.values) == 1 else one.key
            for one in selector
        )
        words.append(f"{labels or 'all pods'} by {getattr(term, 'topology_key', '')}")
    return "; ".join(words)
