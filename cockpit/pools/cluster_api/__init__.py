"""Pools owned by a Cluster API object: MachineDeployment, MachineSet, MachinePool.

Sources: cluster-api api/core/v1beta2/machinedeployment_types.go (scale subresource), common_types.go
(`topology.cluster.x-k8s.io/owned`: replicas then belong to Cluster.spec.topology and a direct change is
reverted); kubernetes/autoscaler cluster-autoscaler/cloudprovider/clusterapi/README.md (the two size
annotations: both present means that the autoscaler owns the size).
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from cockpit.errors import BadInput
from cockpit.gangs.sentence import counted
from cockpit.k8s import labels as well_known
from cockpit.model.node import Node, Taint
from cockpit.model.plan import Call
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.record import Condition, Kind, Labels, condition, label
from cockpit.model.right import Ways
from cockpit.model.store_reader import StoreReader
from cockpit.model.watched import Watched
from cockpit.pools.failure_classes import classed
from cockpit.pools.owner import (
    MERGE_PATCH,
    Capability,
    FailureClass,
    HasMachines,
    MarksMachines,
    MarksNodes,
    Nodes,
    NodeTemplate,
    Ownership,
    OwnerTraits,
    PoolFailure,
    PromisesNodes,
    RemovesNodes,
    RollsOut,
    SetsSize,
    common_labels,
    guarded,
    in_order,
    machines_of,
    plain_template,
    refused,
    through,
    without_bounds,
)
from cockpit.pools.patches import patch_rights, scale_calls, spec_calls

GROUP = "cluster.x-k8s.io"
TOPOLOGY_OWNED = "topology.cluster.x-k8s.io/owned"
DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name"
AUTOSCALER_MINIMUM = well_known.AUTOSCALER_MINIMUM
AUTOSCALER_MAXIMUM = well_known.AUTOSCALER_MAXIMUM
DELETE_MACHINE = "cluster.x-k8s.io/delete-machine"
_OURS = "gpu-cockpit"  # any value marks it: this one says whose mark it is
GPUS_HINT = "capacity.cluster-autoscaler.kubernetes.io/gpu-count"
GPU_TYPE_HINT = "capacity.cluster-autoscaler.kubernetes.io/gpu-type"
LABELS_HINT = "capacity.cluster-autoscaler.kubernetes.io/labels"
TAINTS_HINT = "capacity.cluster-autoscaler.kubernetes.io/taints"
"""Sources: kubernetes/autoscaler cluster-autoscaler/cloudprovider/clusterapi/README.md."""
_PASSED_ON = "node.cluster.x-k8s.io"
_CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
_TOPOLOGY_NAME = "topology.cluster.x-k8s.io/deployment-name"
_OWNER_KIND = "cluster.x-k8s.io/owner-kind"
_OWNER_NAME = "cluster.x-k8s.io/owner-name"
_PAUSED = "cluster.x-k8s.io/paused"
_AUTOSCALER = "the cluster autoscaler"
_SCALE = "scale subresource"
_ANNOTATION = "annotation of the cluster autoscaler"


def _pool(plural: str, kind: str) -> Watched:
    return Watched(Kind.POOL, GROUP, plural, api_kind=kind, short_name=_short(kind))


def _short(kind: str) -> str:
    """`md` of MachineDeployment. Source: cluster-api api/core/v1beta2, kubebuilder:resource."""
    return "".join(letter for letter in kind if letter.isupper()).lower()


def _paused(found: PoolObject) -> str:
    """By what the object is paused, "" where it is not: its annotation counts whatever its value."""
    if any(key == _PAUSED for key, _ in found.annotations):
        return f"annotation {_PAUSED}"
    return "spec.paused" if found.is_paused else ""


class ClusterApi(MarksNodes, PromisesNodes, RollsOut, SetsSize, RemovesNodes, MarksMachines, HasMachines):
    """Its objects are scaled; where an autoscaler or a topology decides their size they say so."""

    traits = OwnerTraits(
        name="Cluster API",
        pool_kinds=(
            _pool("machinedeployments", "MachineDeployment"),
            _pool("machinesets", "MachineSet"),
            _pool("machinepools", "MachinePool"),
        ),
        watched=(Watched(Kind.MACHINE, GROUP, "machines", api_kind="Machine", short_name="ma"),),
        going_taints=("cluster.x-k8s.io/deletion",),
        taint_words={
            "node.cluster.x-k8s.io/outdated-revision": "Cluster API is replacing the nodes of its revision"
        },
        log_labels=frozenset({("cluster.x-k8s.io/provider", "cluster-api")}),  # cluster-api config/default
    )

    # ---- what is its own

    def is_pool(self, found: PoolObject) -> bool:
        """A MachineSet of a MachineDeployment is not: the deployment is the pool."""
        return found.kind != "MachineSet" or not label(found.labels, DEPLOYMENT_NAME)

    def object_of(self, node: Node, objects: Sequence[PoolObject]) -> PoolObject | None:
        """By the annotations that a Machine leaves on its node, through the set to its deployment."""
        kind, name = label(node.annotations, _OWNER_KIND), label(node.annotations, _OWNER_NAME)
        if not name:
            return None
        # names first: this is asked for every node, of all objects
        for one in objects:
            if one.kind == kind and one.name == name:
                if not self.traits.holds(one) or self.is_pool(one):
                    return one
                return self._pool(objects, label(one.labels, DEPLOYMENT_NAME), namespace=one.namespace)
        if kind == "MachineSet":
            # The set itself may be unreadable; its name is the deployment's with a suffix of one word.
            return self._pool(objects, name.rpartition("-")[0], kind="MachineDeployment")
        return None

    def _pool(
        self, objects: Sequence[PoolObject], name: str, *, namespace: str = "", kind: str = ""
    ) -> PoolObject | None:
        """The pool of that name, of that namespace or kind where one is given."""
        named = (one for one in objects if one.name == name)
        fitting = (one for one in named if one.namespace == (namespace or one.namespace))
        pools = (one for one in fitting if one.kind == (kind or one.kind))
        return next((one for one in pools if self.traits.holds(one) and self.is_pool(one)), None)

    def knows(self, node: Node) -> bool:
        """By the same annotation, where its object lives in another cluster."""
        return bool(label(node.annotations, _OWNER_NAME))

    def template(self, found: PoolObject) -> NodeTemplate:
        """What an autoscaler is told of a pool at zero, beside what its Machines pass on."""
        carried = self.selector(found, ())
        told = plain_template(found, carried)
        return told._replace(
            names=() if carried else (found.name,),  # what its machines' bootstrap gives them is not told
            taints=(*told.taints, *_taints_hinted(label(found.annotations, TAINTS_HINT))),
            gpus=_whole(found.annotations, GPUS_HINT),
            resource=label(found.annotations, GPU_TYPE_HINT) or told.resource,
        )

    def selector(self, found: PoolObject | None, nodes: Nodes) -> Labels:
        """Labels of the annotation for pools at zero, then those that its Machines pass on to their nodes:
        never those by which Cluster API tells its own objects apart."""
        if found is None:
            return common_labels(found, nodes)
        hinted = _labels_hinted(label(found.annotations, LABELS_HINT))
        passed = tuple(pair for pair in found.template_labels if not _is_of_machines(pair[0]))
        known = msgspec.structs.replace(found, template_labels=tuple(dict((*passed, *hinted)).items()))
        return common_labels(known, nodes)

    # ---- who decides

    def ownership(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> Ownership:
        """The object's own word: topology, autoscaler, or nobody but who scales it."""
        if found is None:
            return self._elsewhere(nodes)
        minimum, maximum = _bounds(found)
        says = Ownership(
            owner=self.traits.name,
            minimum=minimum if minimum is not None else found.min_replicas,
            maximum=maximum if maximum is not None else found.max_replicas,
        )
        if fault := _bounds_fault(found):
            return without_bounds(_with(says, may_limit=_may_correct(found)), fault)
        if how := _paused(found):
            told = f"{found.kind} {found.key} is paused ({how})"
            no = refused(f"{told}: nothing would follow a new size; unpause it first")
            return _with(says, may_resize=no, may_limit=no, may_demand=no, may_remove=no, is_paused=True)
        if any(key == TOPOLOGY_OWNED for key, _ in found.labels):
            cluster = label(found.labels, _CLUSTER_NAME) or "its Cluster"
            member = label(found.labels, _TOPOLOGY_NAME) or found.name
            way = f"set replicas of {member} in Cluster.spec.topology.workers"
            no = refused(
                f"owned by the topology of cluster {cluster}: a change here would be reverted; {way}"
            )
            return _with(says, may_resize=no, may_limit=no, handle=way)
        if minimum is not None and maximum is not None:
            no = refused(
                f"the cluster autoscaler controls the size, between {minimum} and {maximum}:"
                " it would undo a change; raise its maximum, or let pending pods trigger it"
            )
            return _with(
                says,
                owner=_AUTOSCALER,
                may_resize=no,
                may_limit=through(_ANNOTATION),
                may_demand=through("pending pods"),
            )
        no_limit = refused("no maximum is set: any size may be set")
        limit = through(_ANNOTATION) if says.maximum is not None else no_limit
        if found.replicas is None:
            no = refused(f"{found.kind} {found.key} has no replicas field to change")
            return _with(says, may_resize=no, may_limit=limit)
        remove = through("annotation of its Machine, then the scale subresource")
        return _with(says, may_resize=through(_SCALE), may_limit=limit, may_remove=remove)

    def is_rolling_out(self, found: PoolObject, truth: StoreReader) -> bool:
        """By its condition, else by Machines of more than one MachineSet (kubernetes/autoscaler
        cloudprovider/clusterapi/clusterapi_unstructured.go)."""
        if found.kind != "MachineDeployment":
            return False
        told = condition(found.conditions, "RollingOut")
        if told is not None:
            return told.status == "True"
        staying = (one for one in self.machines(found, (), truth) if one.deleting_seconds is None)
        return len({one.set_name for one in staying if one.set_name}) > 1

    def stopped_by(self, found: PoolObject) -> str:
        """The Cluster: while it is paused none of its pools is followed."""
        cluster = label(found.labels, _CLUSTER_NAME)
        return f"{found.resource_path.rpartition('/')[0]}/clusters/{cluster}" if cluster else ""

    def _elsewhere(self, nodes: Nodes) -> Ownership:
        marks = next((one.annotations for one in nodes if self.knows(one)), ())
        cluster = label(marks, _CLUSTER_NAME)
        where = f" of cluster {cluster}" if cluster else ""
        way = "resize it in the management cluster"
        no = refused(f"Cluster API owner {label(marks, _OWNER_NAME)}{where}: {way}")
        return Ownership(
            owner=self.traits.name,
            may_resize=no,
            may_limit=no,
            handle="the context of its management cluster",
        )

    def failures(
        self, found: PoolObject | None, nodes: Nodes, truth: StoreReader, now_seconds: float
    ) -> tuple[PoolFailure, ...]:
        """What its Machines say."""
        return tuple(of_machines(self.machines(found, nodes, truth)))

    # ---- what would be sent

    def resize_calls(self, found: PoolObject, replicas: int) -> tuple[Call, ...]:
        """One patch of the scale subresource."""
        return scale_calls(found, replicas)

    def choosing_calls(self, machines: Sequence[Machine]) -> tuple[Call, ...]:
        """The mark that a set looks for first (api/core/v1beta2/machineset_types.go)."""
        return tuple(_marked(one, label(one.annotations, DELETE_MACHINE) or _OURS) for one in machines)

    def mark_of(self, machine: Machine) -> str:
        """That mark."""
        return DELETE_MACHINE if label(machine.annotations, DELETE_MACHINE) else ""

    def resize_rights(self, found: PoolObject) -> Ways:
        """To patch that."""
        return patch_rights(found, "scale")

    def removal_calls(self, found: PoolObject, nodes: Nodes, truth: StoreReader) -> tuple[Call, ...]:
        """The machines are marked to go first, then the number is lowered (machineset_types.go)."""
        machines = machines_of(nodes, self.machines(found, nodes, truth))
        if found.replicas is None or found.replicas < len(machines):
            has = "an unknown number of nodes" if found.replicas is None else counted(found.replicas, "node")
            raise BadInput(f"{found.kind} {found.key} has {has}, not {len(machines)} to remove")
        return (
            *self.choosing_calls(machines),
            *self.resize_calls(found, found.replicas - len(machines)),
        )

    def unmark_calls(self, machine: Machine) -> tuple[Call, ...]:
        """The mark would outlive a write of the number that was refused, and meet whoever shrinks next."""
        return (_marked(machine, None),) if label(machine.annotations, DELETE_MACHINE) == _OURS else ()

    def limit_calls(self, found: PoolObject, maximum: int) -> tuple[Call, ...]:
        """The annotation from which the autoscaler reads the maximum."""
        return spec_calls(found, {"metadata": {"annotations": {AUTOSCALER_MAXIMUM: str(maximum)}}})

    def limit_rights(self, found: PoolObject) -> Ways:
        """To patch the object."""
        return patch_rights(found)

    # ---- what is on its way

    def machines(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> tuple[Machine, ...]:
        """Those with the object's label; a set without a deployment knows its own by its name."""
        if found is None:
            names = frozenset(one.name for one in nodes)
            return in_order(one for one in _all(truth) if one.node in names)
        return in_order(
            one
            for one in _all(truth)
            if (one.pool_kind, one.pool_key) == (found.kind, found.key)
            or (found.kind == "MachineSet" and (one.namespace, one.set_name) == (found.namespace, found.name))
        )


def _all(truth: StoreReader) -> Iterable[Machine]:
    return (one for one in truth.records(Kind.MACHINE).values() if one.api_version.startswith(f"{GROUP}/"))


def _marked(machine: Machine, value: str | None) -> Call:
    return Call(
        method="PATCH",
        path=f"{machine.resource_path}/{machine.name}",
        body={"metadata": {**guarded(machine), "annotations": {DELETE_MACHINE: value}}},
        content_type=MERGE_PATCH,
        target=f"machine {machine.key}",
    )


def _with(says: Ownership, **more: object) -> Ownership:
    return msgspec.structs.replace(says, **more)


def _labels_hinted(text: str) -> Labels:
    """`key=value,key=value`."""
    pairs = (one.strip().partition("=") for one in text.split(",") if "=" in one)
    return tuple((key.strip(), value.strip()) for key, _, value in pairs)


def _taints_hinted(text: str) -> tuple[Taint, ...]:
    """`key=value:NoSchedule,key:NoExecute`."""
    found = []
    for one in text.split(","):
        what, _, effect = one.strip().rpartition(":")
        key, _, value = what.partition("=")
        if key and effect:
            found.append(Taint(key, value, effect))
    return tuple(found)


def _is_of_machines(key: str) -> bool:
    """Whether only a Machine has that label, and its node does not (api/core/v1beta2/machine_types.go)."""
    domain = key.partition("/")[0] if "/" in key else ""
    is_passed = domain == _PASSED_ON or domain.endswith(f".{_PASSED_ON}")
    return not is_passed and (domain == GROUP or domain.endswith(f".{GROUP}"))


def _bounds_fault(found: PoolObject) -> str:
    """What is wrong with the annotations by which an autoscaler is told its bounds, "" where nothing is."""
    for key, value in zip((AUTOSCALER_MINIMUM, AUTOSCALER_MAXIMUM), _bounds(found), strict=True):
        text = label(found.annotations, key)
        if text and value is None:
            return f"annotation {key} of {found.kind} {found.key} is {text[:20]!r}, no whole number"
    minimum, maximum = _bounds(found)
    if minimum is None or maximum is None or minimum <= maximum:
        return ""
    return f"the minimum {minimum} of {found.kind} {found.key} is above its maximum {maximum}"


def _may_correct(found: PoolObject) -> Capability:
    """The maximum may be corrected where the minimum is a number."""
    text = label(found.annotations, AUTOSCALER_MINIMUM)
    is_right = not text or _bounds(found)[0] is not None
    return through(_ANNOTATION) if is_right else refused(_bounds_fault(found))


def _bounds(found: PoolObject) -> tuple[int | None, int | None]:
    return _whole(found.annotations, AUTOSCALER_MINIMUM), _whole(found.annotations, AUTOSCALER_MAXIMUM)


def _whole(labels: Labels, key: str) -> int | None:
    text = label(labels, key)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


_TELLING = ("InfrastructureReady", "BootstrapReady", "BootstrapConfigReady", "NodeHealthy", "Ready")
_FAILED = re.compile(r"Fail|Error|Timed?Out|TimeOut", re.IGNORECASE)


def of_machines(machines: Iterable[Machine]) -> Iterator[PoolFailure]:
    """What each says, its own word before that of its infrastructure."""
    for one in machines:
        told = next((each for each in one.conditions if _tells(each)), None)
        if not one.failure and told is None:
            continue
        code, said = ("", one.failure) if told is None else (told.reason, told.message)
        means = classed(code, f"{one.failure} {said}")
        yield PoolFailure(
            kind=means.kind,
            sentence=means.sentence,
            remedy=means.remedy,
            source=f"Machine {one.key}",
            said=one.failure or said,
            code=code,
            since_seconds=told.changed_seconds if told is not None else one.created_seconds,
            machine=one.uid,
        )


def _tells(one: Condition) -> bool:
    if one.type not in _TELLING or one.status != "False":
        return False
    if _FAILED.search(one.reason):
        return True
    return classed(one.reason, one.message).kind in (FailureClass.QUOTA, FailureClass.STOCKOUT)
