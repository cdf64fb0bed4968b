"""The cluster autoscaler: it sets the size of other owners' pools from the demand of pending pods.

Which it does is told by its status ConfigMap; what went wrong by that and by its events. Sources:
kubernetes-sigs/cluster-autoscaler pkg/utils/taints/taints.go, pkg/clusterstate, pkg/FAQ.md.
"""

from collections.abc import Iterable, Sequence

import msgspec

from cockpit.gangs.sentence import counted
from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.batch import Phase
from cockpit.model.event import Event
from cockpit.model.node import Node
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.record import Kind, Labels
from cockpit.model.store_reader import StoreReader
from cockpit.model.watched import Watched
from cockpit.pools.capacity import DemandWay
from cockpit.pools.cluster_autoscaler.flags import NAMES, UNKNOWN, scale_down_words, terms_of
from cockpit.pools.cluster_autoscaler.groups import (
    STATUS_OBJECT,
    coming_of,
    group_of_node,
    groups_of,
    may_grow,
    sum_of,
    template_of,
    told_groups,
)
from cockpit.pools.cluster_autoscaler.removal import (
    GOING,
    KEEP,
    THINKING,
    is_going,
    keepers_of,
    removal_of,
)
from cockpit.pools.cluster_autoscaler.texts import FAILURES, GREW, KEPT, Said, meaning, refusals_of, said_by
from cockpit.pools.failure_classes import classed
from cockpit.pools.keepers import Budgets, Keeper, KeeperKind
from cockpit.pools.owner import (
    FailureClass,
    GroupRefusal,
    HasMachines,
    KnownPool,
    Nodes,
    NodeTemplate,
    Ownership,
    OwnerTraits,
    OwnerWords,
    PoolFailure,
    PromisesNodes,
    Removal,
    ScalesDown,
    StartedByFlags,
    TakesOver,
    common_labels,
    refused,
    through,
)

NAMESPACE, STATUS = "kube-system", "cluster-autoscaler-status"
"""Unless the setting `autoscaler-status` names another (`--namespace`, `--status-config-map-name`)."""


class ClusterAutoscaler(TakesOver, ScalesDown, StartedByFlags, PromisesNodes, HasMachines):
    """No object of the API is its own: it takes over the size of those of others. A group without nodes that
    none of them is stands for itself."""

    traits = OwnerTraits(
        name="the cluster autoscaler",
        stands_for=STATUS_OBJECT,
        watched=(
            Watched(
                Kind.AUTOSCALER,
                "",
                "configmaps",
                ("v1",),
                api_kind="ConfigMap",
                namespace=NAMESPACE,
                name=STATUS,
            ),
        ),
        demand_ways=(DemandWay.BUFFER, DemandWay.REQUEST, DemandWay.PLACEHOLDER),
        kept_reasons=KEPT,
        keep_annotation=KEEP,
        going_taints=(GOING,),
        step_limits={"joined": 900.0},  # --max-node-provision-time; cluster-autoscaler pkg/FAQ.md
        taint_words={
            GOING: "cluster-autoscaler is about to delete it",
            THINKING: "cluster-autoscaler considers it for deletion",
        },
        # autoscaler charts/cluster-autoscaler/templates/_helpers.tpl, cloudprovider/*/examples
        log_labels=frozenset(
            {
                ("app.kubernetes.io/name", "cluster-autoscaler"),
                ("app.kubernetes.io/name", "aws-cluster-autoscaler"),
                ("app.kubernetes.io/name", "clusterapi-cluster-autoscaler"),
                ("app", "cluster-autoscaler"),
                ("k8s-app", "cluster-autoscaler"),
            }
        ),
        flags=NAMES,
        image_word="cluster-autoscaler",
        idle_words=f"removes unneeded nodes {UNKNOWN}",
    )

    def empty_since(self, node: Node, machine: Machine | None) -> float | None:
        """The value of its taint of candidates is when it set it."""
        found = next((one.value for one in node.taints if one.key == THINKING), "")
        return float(found) if found.isascii() and found.isdecimal() and len(found) < 12 else None

    def told_pools(self, truth: StoreReader, known: Sequence[KnownPool]) -> tuple[PoolObject, ...]:
        """Groups of its status, also of one that it left behind."""
        status = status_of(truth)
        return () if status is None else tuple(told_groups(status, known))

    def template(self, found: PoolObject) -> NodeTemplate:
        """What the name of the group tells."""
        return template_of(found)

    def selector(self, found: PoolObject | None, nodes: Nodes) -> Labels:
        """No label of its own."""
        return common_labels(found, nodes)

    def ownership(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> Ownership:
        """Of such a group: its size and its bounds are kept by the provider."""
        name = "" if found is None else found.name
        no = refused(f"no object in this cluster is node group {name}: its provider keeps size and bounds")
        low, high = (None, None) if found is None else (found.min_replicas, found.max_replicas)
        return Ownership(owner=self.traits.name, minimum=low, maximum=high, may_resize=no, may_limit=no)

    def takes_over(
        self, says: Ownership, found: PoolObject | None, nodes: Nodes, truth: StoreReader
    ) -> Ownership:
        """A pool in its status is its own while it writes it, whoever holds the object."""
        status = status_of(truth)
        if status is None:
            return says
        if not status.is_working:
            return _while_stopped(says, status) if says.owner == self.traits.name else says
        groups = groups_of(status, found, nodes)
        if not groups:
            return says
        low, high = sum_of(one.minimum for one in groups), sum_of(one.maximum for one in groups)
        between = "" if low is None or high is None else f", between {low} and {high}"
        named = f"group {groups[0].name}" if len(groups) == 1 else counted(len(groups), "group")
        no = refused(
            f"the cluster autoscaler controls the size{between} ({named}):"
            " it would undo a change; raise its maximum, or let pending pods trigger it"
        )
        return msgspec.structs.replace(
            says,
            owner=self.traits.name,
            minimum=says.minimum if low is None else low,
            maximum=says.maximum if high is None else high,
            coming=coming_of(groups),
            may_resize=says.may_resize if says.is_paused else no,
            may_demand=says.may_demand if says.is_paused else through("pending pods"),
            read_seconds=status.read_seconds,
        )

    def refusals(self, event: Event) -> tuple[GroupRefusal, ...]:
        """Of NotTriggerScaleUp."""
        return refusals_of(event)

    def removal(
        self, node: Node, truth: StoreReader, now_seconds: float, budgets: Budgets = None
    ) -> Removal | None:
        """By the taints that it puts on nodes."""
        told = removal_of(node, terms_of(truth, self.traits.name, now_seconds), now_seconds)
        keepers = (
            *self.node_keepers(node, truth, now_seconds, budgets),
            *self.pool_keepers(node, truth, now_seconds),
        )
        return None if not is_going(node) and any(one.is_sure for one in keepers) else told

    def namespace(self, truth: StoreReader) -> str:
        """That of its status, while it writes it."""
        status = status_of(truth)
        return status.namespace if status is not None and status.is_working else ""

    def scale_down_words(self, truth: StoreReader) -> str:
        """By its flags, where they were read."""
        return scale_down_words(truth, self.traits.name)

    def node_keepers(
        self, node: Node, truth: StoreReader, now_seconds: float, budgets: Budgets = None
    ) -> tuple[Keeper, ...]:
        """By the node's annotation, wherever it is; by its pods where it is seen to scale the node's pool."""
        if is_going(node):
            return ()
        status = status_of(truth)
        is_its = status is not None and status.is_working and bool(groups_of(status, None, (node,)))
        return keepers_of(node, truth.pods_on(node.name) if is_its else (), budgets)

    def pool_keepers(self, node: Node, truth: StoreReader, now_seconds: float) -> tuple[Keeper, ...]:
        """The minimum of its group."""
        status = status_of(truth)
        if status is None or not status.is_working or is_going(node):
            return ()
        groups = groups_of(status, None, (node,))
        group = groups[0] if len(groups) == 1 else group_of_node(status, node.name) if groups else None
        if group is None or group.minimum is None or group.target is None or group.target > group.minimum:
            return ()
        return (Keeper(KeeperKind.MINIMUM, f"{group.name} ({counted(group.minimum, 'node')})"),)

    def words(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> tuple[OwnerWords, ...]:
        """Its groups in the status, then the events about them, the newest first."""
        status = status_of(truth)
        if status is None:
            return _unread(truth)
        groups = groups_of(status, found, nodes)
        known = ((one, said_by(one)) for one in truth.records(Kind.OWNER_EVENT).values())
        events = [(said, one) for one, said in known if said is not None and _is_of(said, groups, status)]
        events.sort(key=lambda pair: (-(pair[1].last_seconds or 0.0), pair[1].message))
        # it tells of a scale-up before and after it asked the cloud: the same once is enough
        newest = [(said, one) for at, (said, one) in enumerate(events) if not at or said != events[at - 1][0]]
        return (
            *(OwnerWords(_group_words(group), "status", status.written_seconds) for group in groups),
            *(OwnerWords(_event_words(said, one), "event", one.last_seconds) for said, one in newest),
        )

    def machines(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> tuple[Machine, ...]:
        """Those that whoever holds the pool tells of."""
        return ()

    def failures(
        self, found: PoolObject | None, nodes: Nodes, truth: StoreReader, now_seconds: float
    ) -> tuple[PoolFailure, ...]:
        """What its status says of the group now, then what its events said, the newest first."""
        status = status_of(truth)
        if status is None:
            return ()
        groups = groups_of(status, found, nodes)
        if not groups:
            return ()
        events: Iterable[Event] = truth.records(Kind.OWNER_EVENT).values()
        told = [*_of_status(status), *_of_events("", events)]
        for group in groups:
            others = [one for one in groups if one is not group and may_grow(one)]
            own = (*_of_group(group), *_of_events(group.name, events))
            told += [_of_part(one, group, others) for one in own] if others else own
        return tuple(sorted(told, key=lambda one: -(one.since_seconds or 0.0)))

    def troubles(self, truth: StoreReader) -> tuple[PoolFailure, ...]:
        """That it has stopped writing its status."""
        status = status_of(truth)
        return () if status is None else tuple(_of_status(status))


def status_of(truth: StoreReader) -> AutoscalerStatus | None:
    """Its status as it was read last; None: it was not, it may not be, or there is none."""
    return next(iter(truth.records(Kind.AUTOSCALER).values()), None)


_STOPPED = "the cluster autoscaler does not work: it has not written its status for 3 min or more"
_UNREAD = (Phase.ABSENT, Phase.DENIED, Phase.NOT_LOGGED_IN)


def _while_stopped(says: Ownership, status: AutoscalerStatus) -> Ownership:
    """Of a pool whose object leaves the size to it: nothing that is asked is answered."""
    no = refused(f"{_STOPPED}: {_look(status)}; before that nothing follows the demand of pods")
    return msgspec.structs.replace(says, may_resize=no, may_demand=no)


def _look(status: AutoscalerStatus) -> str:
    return f"look at its pod and its log in {status.namespace}"


def _unread(truth: StoreReader) -> tuple[OwnerWords, ...]:
    """Why there is no word of its own."""
    stream = truth.status(Kind.AUTOSCALER)
    if stream is None or stream.phase not in _UNREAD:
        return ()
    remedy = "; the setting autoscaler-status names another" if stream.phase is Phase.ABSENT else ""
    return (OwnerWords(f"status not read: {stream.message.rstrip('.')}{remedy}", "", None),)


def _is_of(said: Said, groups: Sequence[ScaledGroup], status: AutoscalerStatus) -> bool:
    """Whether an event is of one of them; a node that is gone is told by what its name begins with."""
    if said.node:
        return group_of_node(status, said.node) in groups
    return any(said.group == one.name for one in groups)


def _event_words(said: Said, event: Event) -> str:
    if event.reason == "ScaleDownFailed":
        return f"{event.reason}: node {said.node}: {said.why}"
    if said.node and event.reason == "ScaleDown":
        return f"{event.reason}: node {said.node} removed with drain{_moved(said.why)}"
    if said.node:
        return f"{event.reason}: empty node {said.node} removed"
    return f"{event.reason}: {event.message}"


def _moved(pods: str) -> str:
    return f"; pods to reschedule: {pods}" if pods else ""


def _group_words(group: ScaledGroup) -> str:
    """`scale-up NoActivity: ...`, as the status has it."""
    said = f": {group.error_message}" if group.error_message else ""
    return f"group {group.name}: scale-up {group.up or 'not told'}{said}"


def _of_part(failure: PoolFailure, group: ScaledGroup, others: Sequence[ScaledGroup]) -> PoolFailure:
    """Of one group, where others of its pool may still grow."""
    may = f"{counted(len(others), 'other group')} may grow"
    words = f"{failure.sentence} (group {group.name.rpartition('/')[2]}; {may})"
    return msgspec.structs.replace(failure, sentence=words, is_part=True)


def _of_status(status: AutoscalerStatus) -> Iterable[PoolFailure]:
    if not status.is_working and status.written_seconds is not None:
        yield PoolFailure(
            kind=FailureClass.NO_AUTOSCALER,
            sentence=_STOPPED,
            remedy=_look(status),
            source=f"ConfigMap {status.key}",
            since_seconds=status.written_seconds,
        )


def _of_group(group: ScaledGroup) -> Iterable[PoolFailure]:
    if group.up not in ("Backoff", "Unhealthy"):
        return
    means = classed(group.error_code, group.error_message)
    waits = "backs off after a failed scale-up" if group.up == "Backoff" else "finds the group unhealthy"
    yield PoolFailure(
        kind=means.kind,
        sentence=f"the cluster autoscaler {waits}: {means.sentence}",
        remedy=means.remedy,
        source=f"status of group {group.name}",
        said=group.error_message,
        code=group.error_code,
        since_seconds=group.up_since_seconds,
    )


def _of_events(group: str, events: Iterable[Event]) -> Iterable[PoolFailure]:
    """`group` "": those that concern the whole cluster. What a later growth of the group healed is none."""
    own = [(said, one) for one in events if (said := said_by(one)) is not None and said.group == group]
    grew = max((one.last_seconds or 0.0 for said, one in own if said.reason == GREW), default=0.0)
    for said, event in own:
        if event.reason not in FAILURES or (event.last_seconds or 0.0) < grew:
            continue
        means = meaning(said)
        yield PoolFailure(
            kind=means.kind,
            sentence=means.sentence,
            remedy=means.remedy,
            source=f"event {event.reason}",
            said=event.message,
            code=said.code,
            since_seconds=event.last_seconds,
            is_past=True,
        )
