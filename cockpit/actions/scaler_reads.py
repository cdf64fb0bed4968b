"""Reads the HorizontalPodAutoscalers when somebody looks at what stands behind a pool's demand."""

from cockpit.actions.refusals import withheld
from cockpit.kube.decode.scalers import scaler_of
from cockpit.kube.resource import Resource
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.scaler import ScalersRead
from cockpit.model.session import Reader

SCALERS = Resource(
    "autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", namespaced=True
)
MOST = 500


async def read_scalers(session: Reader, namespaces: Namespaces = EVERY) -> ScalersRead:
    """Those of these namespaces; what may not be read is said. Raises NoConnection."""
    reads = [await _read(session, name) for name in namespaces.names or ("",)]
    found = tuple(scaler for read in reads for scaler in read.found)[:MOST]
    return ScalersRead(found, next((read.trouble for read in reads if read.trouble), ""))


async def _read(session: Reader, namespace: str) -> ScalersRead:
    answer = await session.request("GET", SCALERS.path(namespace))
    if trouble := withheld(answer.status, "list horizontalpodautoscalers of autoscaling"):
        return ScalersRead(trouble=trouble)
    if answer.status == 404:
        return ScalersRead(trouble="this server does not serve autoscaling/v2")
    if answer.status >= 300:
        return ScalersRead(trouble=f"the server answered {answer.status}")
    tree = answer.json()
    items = tree.get("items") if isinstance(tree, dict) else None
    scalers = (scaler_of(one) for one in (items or ())[:MOST] if isinstance(one, dict))
    return ScalersRead(tuple(one for one in scalers if one is not None))
