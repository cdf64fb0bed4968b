"""The ResourceClaim controller (component `resource_claim`; pkg/controller/resourceclaim).

It makes the claims that a pod asks for by template, names them in the pod's status, and lets go what a pod
that is over had. Not modelled: claims of PodGroups and those of extended resources.
"""

from collections.abc import Iterable, Iterator

from cockpit.kube.resource import PODS
from cockpit.sim.actors.controllers.children import Children
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.trees import controller_of, is_deleting, is_ended, key_of, uid_of
from cockpit.sim.engine import Key
from cockpit.sim.port import ChangeType, ObjectChange, PatchType, PortError, Tree
from cockpit.sim.resources import RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS

FINALIZER = "resource.kubernetes.io/delete-protection"
_NAME_IN_POD = "resource.kubernetes.io/pod-claim-name"
_LONGEST_PREFIX = 57
"""A generated name has a hyphen and five characters more, and is a DNS label of 63 at most."""
_POD, _CLAIM = "pod", "claim"


class ResourceClaims(Controller):
    """Claims that pods ask for by template, from the pod's creation to its end."""

    name = "resource-claim-controller"
    component = "resource_claim"
    watches = (PODS, RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES)

    def __init__(self) -> None:
        super().__init__()
        self._claims = Children(("Pod",))

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        namespace, name = key_of(change.tree)
        if change.resource == PODS:
            if not change.tree["spec"].get("resourceClaims"):
                return
            if change.type is not ChangeType.DELETED:
                yield (_POD, namespace, name)
            for claim in _names(change.tree).values():
                yield (_CLAIM, namespace, claim)
        elif change.resource == RESOURCE_CLAIMS:
            self._claims.take(change)
            if change.type is not ChangeType.DELETED:
                yield (_CLAIM, namespace, name)

    async def reconcile(self, key: Key) -> None:
        kind, namespace, name = key
        if kind == _POD:
            pod = self.engine.cache(PODS).get(namespace, name)
            if pod is not None and not is_deleting(pod):
                await self._claim_for(pod)
        else:
            claim = self.engine.cache(RESOURCE_CLAIMS).get(namespace, name)
            if claim is not None:
                await self._release(claim)

    # ---- what a pod asks for

    async def _claim_for(self, pod: Tree) -> None:
        made: dict[str, str] = {}
        for asked in pod["spec"].get("resourceClaims") or ():
            try:
                name = await self._claim_name(pod, asked)
            except PortError as error:
                message = f"PodResourceClaim {asked['name']}: {error.message}"
                await self.warning(pod, "FailedResourceClaimCreation", message)
                raise
            if name:
                made[asked["name"]] = name
        if made:
            namespace, pod_name = key_of(pod)
            statuses = [{"name": own, "resourceClaimName": claim} for own, claim in made.items()]
            patch = {"metadata": {"uid": uid_of(pod)}, "status": {"resourceClaimStatuses": statuses}}
            await self.engine.port.patch(
                PODS, namespace, pod_name, patch, type=PatchType.STRATEGIC, subresource="status"
            )
        if pod["spec"].get("nodeName"):
            await self._reserve(pod)

    async def _claim_name(self, pod: Tree, asked: Tree) -> str:
        """The claim that is new for the pod's status, "" where there is none. Raises PortError."""
        template_name = asked.get("resourceClaimTemplateName")
        if not template_name:
            return ""
        namespace = pod["metadata"]["namespace"]
        mine = {claim["metadata"]["name"]: claim for claim in self._claims.of(pod)}
        if _names(pod).get(asked["name"]) in mine:
            return ""
        for name, claim in mine.items():
            if (claim["metadata"].get("annotations") or {}).get(_NAME_IN_POD) == asked["name"]:
                return str(name)
        template = self.engine.cache(RESOURCE_CLAIM_TEMPLATES).get(namespace, template_name)
        if template is None:
            missing = f'resourceclaimtemplate.resource.k8s.io "{template_name}" not found'
            raise PortError(404, "NotFound", f'resource claim template "{template_name}": {missing}')
        try:
            claim = await self.engine.port.create(RESOURCE_CLAIMS, _claim(pod, asked, template), namespace)
        except PortError as error:
            message = f"create ResourceClaim : {error.message}"
            raise PortError(error.status, error.reason, message, error.causes) from error
        self._claims.put(claim)
        return str(claim["metadata"]["name"])

    async def _reserve(self, pod: Tree) -> None:
        """A pod that somebody bound without the scheduler takes what was allocated already."""
        for claim in self._claims_of(pod):
            status = claim.get("status") or {}
            held = status.get("reservedFor") or []
            if not status.get("allocation") or any(user["uid"] == uid_of(pod) for user in held):
                continue
            user = {"resource": "pods", "name": pod["metadata"]["name"], "uid": uid_of(pod)}
            await self.write_status(RESOURCE_CLAIMS, claim, {**status, "reservedFor": [*held, user]})

    def _claims_of(self, pod: Tree) -> Iterator[Tree]:
        for name in _names(pod).values():
            claim = self.engine.cache(RESOURCE_CLAIMS).get(pod["metadata"]["namespace"], name)
            if claim is not None:
                yield claim

    # ---- what a pod that is over leaves

    async def _release(self, claim: Tree) -> None:
        status = claim.get("status") or {}
        held = status.get("reservedFor") or []
        kept = [user for user in held if self._is_in_use(claim, user)]
        finalizers = claim["metadata"].get("finalizers") or []
        if len(kept) < len(held) or (FINALIZER in finalizers and is_deleting(claim) and not kept):
            left = {key: value for key, value in status.items() if key != "reservedFor"}
            if kept:
                left["reservedFor"] = kept
            elif FINALIZER in finalizers:
                left.pop("allocation", None)
            claim = await self.write_status(RESOURCE_CLAIMS, claim, left)
            if FINALIZER in finalizers and not left.get("allocation"):
                await self._let_go(claim, [name for name in finalizers if name != FINALIZER])
        if not kept and not is_deleting(claim) and self._is_over(claim):
            namespace, name = key_of(claim)
            await self.engine.port.delete(RESOURCE_CLAIMS, namespace, name, uid=uid_of(claim))

    async def _let_go(self, claim: Tree, finalizers: list[str]) -> None:
        namespace, name = key_of(claim)
        metadata = {"uid": uid_of(claim), "finalizers": finalizers or None}
        await self.engine.port.patch(RESOURCE_CLAIMS, namespace, name, {"metadata": metadata})

    def _is_in_use(self, claim: Tree, user: Tree) -> bool:
        if user.get("apiGroup") or user["resource"] != "pods":
            return True
        pod = self.engine.cache(PODS).get(claim["metadata"]["namespace"], user["name"])
        return pod is not None and uid_of(pod) == user["uid"] and not _is_done(pod)

    def _is_over(self, claim: Tree) -> bool:
        """The pod that it was made for will not run; one that is gone is the garbage collector's."""
        owner = controller_of(claim)
        if owner is None or owner["kind"] != "Pod":
            return False
        pod = self.engine.cache(PODS).get(claim["metadata"]["namespace"], owner["name"])
        return pod is not None and (uid_of(pod) != owner["uid"] or _is_done(pod))


def _names(pod: Tree) -> dict[str, str]:
    """What the pod calls its claims, each with the name of the ResourceClaim where one is known."""
    statuses = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    made = {status["name"]: status.get("resourceClaimName", "") for status in statuses}
    found = {}
    for asked in pod["spec"].get("resourceClaims") or ():
        name = asked.get("resourceClaimName") or made.get(asked["name"])
        if name:
            found[asked["name"]] = name
    return found


def _is_done(pod: Tree) -> bool:
    return is_ended(pod) or (is_deleting(pod) and not pod["spec"].get("nodeName"))


def _claim(pod: Tree, asked: Tree, template: Tree) -> Tree:
    inner = template["spec"]
    held = inner.get("metadata") or {}
    metadata: Tree = {
        "generateName": _prefix(pod["metadata"]["name"], asked["name"]),
        "namespace": pod["metadata"]["namespace"],
        "annotations": {**(held.get("annotations") or {}), _NAME_IN_POD: asked["name"]},
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod["metadata"]["name"],
                "uid": uid_of(pod),
                "controller": True,
            }
        ],
    }
    if held.get("labels"):
        metadata["labels"] = dict(held["labels"])
    return {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": RESOURCE_CLAIMS.kind,
        "metadata": metadata,
        "spec": inner["spec"],
    }


def _prefix(pod: str, asked: str) -> str:
    """`POD-CLAIM-`; both are cut, each by its share, where that is too long."""
    whole = f"{pod}-{asked}-"
    if len(whole) <= _LONGEST_PREFIX:
        return whole
    head = pod[: len(pod) * _LONGEST_PREFIX // len(whole)]
    return f"{head}-{asked[: len(asked) * _LONGEST_PREFIX // len(head + '-')]}"
