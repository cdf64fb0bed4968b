"""Who holds a card, checked against what the API server says. Pure.

The exporter's label is a hint: it vanishes now and then (dcgm-exporter issue 342), names the last pod of a
shared card, or a pod that is gone. The API server knows which pods sit on the node and how many devices each
was charged.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace as _replace

from cockpit.model.gpu import Doubt, DoubtKind, Gpu, Mark
from cockpit.model.pod import Pod

Claimed = Mapping[str, Sequence[tuple[str, str]]]
"""(namespace, name) of pods by the uuid of a card."""

NOTHING: Claimed = MappingProxyType({})


def attribute(
    cards: Sequence[Gpu],
    pods: Sequence[Pod],
    before: Sequence[Gpu] = (),
    sharers: int = 1,
    *,
    sees_all_pods: bool = True,
    claimed: Claimed = NOTHING,
) -> list[Gpu]:
    """The cards of one node with marks that the node's pods support.

    `pods` are the pods bound to the node, `before` the node's cards of the last round, `sharers` how many
    pods may hold one card (time-slicing replicas). `sees_all_pods` is False where some pods of the node may
    not be known. `claimed` is who has a card by claim (DRA): the API server's own word, which proves it.

    SURE: the named pod sits on this node, is not finished and asks for GPUs. SHARED: several may hold it.
    GUESSED: the pod follows only from counting, from the last round, or from a label that cannot be checked;
    so does one that got its GPUs by claim, on a card that no claim is known to have.
    UNALLOCATED: no pod is left that could have it. NOT_COLLECTED: a pod has it, no source says which. A label
    that names a pod which is not on the node counts for nothing; the card's `doubts` tell it.
    """
    holders = {(pod.namespace, pod.name): pod for pod in pods if _may_hold(pod)}
    last = {card.uuid: (card.pod_namespace, card.pod_name) for card in before if card.pod_name}
    known = {(pod.namespace, pod.name) for pod in pods}
    named: list[Gpu] = []
    alone = {who for who, pod in holders.items() if not _is_by_claim(pod)} if sharers == 1 else set()
    for labelled in cards:
        if (
            not labelled.also
            and (labelled.pod_namespace, labelled.pod_name) in alone
            and labelled.mark is not Mark.SHARED
            and labelled.uuid not in claimed
        ):
            named.append(_replace(labelled, mark=Mark.SURE))  # nearly all; what is below says the same of it
            continue
        card, told = labelled, _told(labelled)
        if card.uuid in claimed:
            named.append(_by_claim(card, told, claimed[card.uuid]))
            continue
        holding = [who for who in told if who in holders]
        missing = [who for who in told if who not in known]
        if not sees_all_pods and missing and not holding:
            named.append(_replace(card, mark=Mark.SHARED if len(told) > 1 else Mark.GUESSED))
            continue
        if missing and sees_all_pods:
            card = _doubted(card, missing)
        if holding:
            held = _held(card, holding, sharers)
            is_proved = held.mark is not Mark.SURE or not _is_by_claim(holders[holding[0]])
            named.append(held if is_proved else _replace(held, mark=Mark.GUESSED))
        elif any(who in known for who in told):
            named.append(_nobody(card))  # finished, or it asks for no GPU: an exporter's own pod
        elif told:
            named.append(_as_before(_nobody(card), last.get(card.uuid), holders))
        else:
            named.append(_as_before(card, last.get(card.uuid), holders))
    if sharers > 1:
        return [_shared_rest(card, holders) for card in named]
    return _counted(named, holders)


_Who = tuple[str, str]


def _told(card: Gpu) -> list[_Who]:
    """Every pod that labels name, as namespace and name."""
    if not card.pod_name:
        return []
    others = (item.split("/", 1) for item in card.also)
    return [(card.pod_namespace, card.pod_name), *((namespace, name) for namespace, name in others)]


def _doubted(card: Gpu, missing: Sequence[_Who]) -> Gpu:
    found = {Doubt("pod_name", DoubtKind.NO_POD, f"{namespace}/{name}") for namespace, name in missing}
    return _replace(card, doubts=tuple(sorted({*card.doubts, *found})))


def _held(card: Gpu, holding: Sequence[_Who], sharers: int) -> Gpu:
    """A card that pods of the node hold by their labels: the first is named, others are told beside it."""
    namespace, name = holding[0]
    # an exporter may know of sharing without naming the others
    is_shared = len(holding) > 1 or sharers > 1 or (card.mark is Mark.SHARED and not card.also)
    return _replace(
        card,
        pod_namespace=namespace,
        pod_name=name,
        container=card.container if name == card.pod_name else "",
        also=tuple(f"{space}/{other}" for space, other in holding[1:]),
        mark=Mark.SHARED if is_shared else Mark.SURE,
    )


def _may_hold(pod: Pod) -> bool:
    """True for one that is charged for GPUs, shares those of another, or has claims that are not known."""
    return bool(pod.node) and not pod.is_finished and pod.asks_for_gpus


def _is_by_claim(pod: Pod) -> bool:
    return pod.gpus == pod.gpus_claimed


def _by_claim(card: Gpu, told: Sequence[_Who], pods: Sequence[_Who]) -> Gpu:
    """A card with the pods whose claims have it; a label that names another one is doubted."""
    (namespace, name), *others = pods
    wrong = {
        Doubt("pod_name", DoubtKind.CONTRADICTED, f"{who[0]}/{who[1]}") for who in told if who not in pods
    }
    return _replace(
        card,
        pod_namespace=namespace,
        pod_name=name,
        container=card.container if told[:1] == [(namespace, name)] else "",
        also=tuple(f"{space}/{other}" for space, other in others),
        doubts=tuple(sorted({*card.doubts, *wrong})),
        mark=Mark.SHARED if others else Mark.SURE,
    )


def _nobody(card: Gpu) -> Gpu:
    return _replace(card, pod_namespace="", pod_name="", container="", also=(), mark=Mark.UNALLOCATED)


def _as_before(card: Gpu, last: _Who | None, holders: dict[_Who, Pod]) -> Gpu:
    """Keep the last attribution where the pod label disappeared but the pod still has GPUs here (guessed)."""
    if last is None or last not in holders:
        return card
    return _replace(card, pod_namespace=last[0], pod_name=last[1], mark=Mark.GUESSED)


def _shared_rest(card: Gpu, holders: dict[_Who, Pod]) -> Gpu:
    if card.pod_name:
        return card
    return _replace(card, mark=Mark.NOT_COLLECTED if holders else Mark.UNALLOCATED)


def _counted(cards: list[Gpu], holders: dict[_Who, Pod]) -> list[Gpu]:
    """Attribute cards without a label to pods that were charged for more cards than name them."""
    charged = {who: pod.gpus_allocated for who, pod in holders.items()}
    for card in cards:
        who = (card.pod_namespace, card.pod_name)
        if who in charged:
            charged[who] -= 1
    open_pods = {who: left for who, left in charged.items() if left > 0}
    missing = sum(open_pods.values())
    unnamed = sum(1 for card in cards if not card.pod_name)
    if not unnamed:
        return cards
    if any(pod.has_unknown_gpus for pod in holders.values()):
        return [card if card.pod_name else _replace(card, mark=Mark.NOT_COLLECTED) for card in cards]
    if not missing:
        return [card if card.pod_name else _nobody(card) for card in cards]
    if len(open_pods) == 1 and missing >= unnamed:
        namespace, name = next(iter(open_pods))
        return [
            card
            if card.pod_name
            else _replace(card, pod_namespace=namespace, pod_name=name, mark=Mark.GUESSED)
            for card in cards
        ]
    return [card if card.pod_name else _replace(card, mark=Mark.NOT_COLLECTED) for card in cards]
