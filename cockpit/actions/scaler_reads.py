"""Reads the HorizontalPodAutoscalers when somebody looks at what stands behind a pool's demand."""

from cockpit.kube.decode.scalers import scaler_of
from cockpit.kube.resource import Resource
from cockpit.model.scaler import ScalersRead
from cockpit.model.session import Reader

SCALERS = Resource(
    "autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", namespaced=True
)
MOST = 500


async def read_scalers(session: Reader, namespace: str = "") -> ScalersRead:
    """Those of all namespaces, or of one; what may not be read is said. Raises NoConnection."""
    answer = await session.request("GET", SCALERS.path(namespace))
    if answer.status in (401, 403):
        return ScalersRead(trouble="denied: list horizontalpodautoscalers of autoscaling")
    if answer.status == 404:
        return ScalersRead(trouble="this server does not serve autoscaling/v2")
    if answer.status >= 300:
        return ScalersRead(trouble=f"the server answered {answer.status}")
    tree = answer.json()
    items = tree.get("items") if isinstance(tree, dict) else None
    found = (scaler_of(one) for one in (items or ())[:MOST] if isinstance(one, dict))
    return ScalersRead(tuple(one for one in found if one is not None))
