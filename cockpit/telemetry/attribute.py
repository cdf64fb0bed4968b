"""Who holds a card, checked against what the API server says. Pure.

The exporter's label is a hint: it vanishes now and then (dcgm-exporter issue 342), names the last pod of a
shared card, or a pod that is gone. The API server knows which pods sit on the node and how many devices each
was charged.
"""

from collections.abc import Callable, Sequence

import msgspec

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.pod import Pod

PodsOn = Callable[[str], Sequence[Pod]]
"""Pods bound to a node by the node's name."""


def attribute(
    cards: Sequence[Gpu], pods: Sequence[Pod], before: Sequence[Gpu] = (), sharers: int = 1
) -> list[Gpu]:
    """The cards of one node with marks that the node's pods support.

    `pods` are the pods bound to the node, `before` the node's cards of the last round, `sharers` how many
    pods may hold one card (time-slicing replicas).

    SURE: the named pod sits on this node, is not finished and asks for GPUs. SHARED: several may hold it.
    GUESSED: the label contradicts the API server, or the pod follows only from counting. UNALLOCATED: nobody
    is left who could hold it. NOT_COLLECTED: somebody holds it, nobody says who.
    """
    holders = {(pod.namespace, pod.name): pod for pod in pods if pod.holds_gpus}
    last = {card.uuid: (card.pod_namespace, card.pod_name) for card in before if card.pod_name}
    known = {(pod.namespace, pod.name) for pod in pods}
    named: list[Gpu] = []
    for card in cards:
        who = (card.pod_namespace, card.pod_name)
        if who in holders:
            shared = card.mark is Mark.SHARED or sharers > 1
            named.append(msgspec.structs.replace(card, mark=Mark.SHARED if shared else Mark.SURE))
        elif card.pod_name and who in known:
            named.append(_nobody(card))  # finished, or it asks for no GPU: an exporter's own pod
        elif card.pod_name:
            named.append(msgspec.structs.replace(card, mark=Mark.GUESSED))
        else:
            named.append(_as_before(card, last.get(card.uuid), holders))
    if sharers > 1:
        return [_shared_rest(card, holders) for card in named]
    return _counted(named, holders)


def _nobody(card: Gpu) -> Gpu:
    return msgspec.structs.replace(card, pod_namespace="", pod_name="", container="", mark=Mark.UNALLOCATED)


def _as_before(card: Gpu, last: tuple[str, str] | None, holders: dict[tuple[str, str], Pod]) -> Gpu:
    """A label that vanished while its pod still holds GPUs here: most likely the same pod."""
    if last is None or last not in holders:
        return card
    return msgspec.structs.replace(card, pod_namespace=last[0], pod_name=last[1], mark=Mark.GUESSED)


def _shared_rest(card: Gpu, holders: dict[tuple[str, str], Pod]) -> Gpu:
    if card.pod_name:
        return card
    return msgspec.structs.replace(card, mark=Mark.NOT_COLLECTED if holders else Mark.UNALLOCATED)


def _counted(cards: list[Gpu], holders: dict[tuple[str, str], Pod]) -> list[Gpu]:
    """Give the cards that nobody named to pods that were charged for more than they were named on."""
    charged = {who: pod.holds_gpus for who, pod in holders.items()}
    for card in cards:
        who = (card.pod_namespace, card.pod_name)
        if who in charged:
            charged[who] -= 1
    open_pods = {who: left for who, left in charged.items() if left > 0}
    missing = sum(open_pods.values())
    unnamed = sum(1 for card in cards if not card.pod_name)
    if not unnamed:
        return cards
    if not missing:
        return [card if card.pod_name else _nobody(card) for card in cards]
    if len(open_pods) == 1 and missing >= unnamed:
        namespace, name = next(iter(open_pods))
        return [
            card
            if card.pod_name
            else msgspec.structs.replace(card, pod_namespace=namespace, pod_name=name, mark=Mark.GUESSED)
            for card in cards
        ]
    return [
        card if card.pod_name else msgspec.structs.replace(card, mark=Mark.NOT_COLLECTED) for card in cards
    ]
