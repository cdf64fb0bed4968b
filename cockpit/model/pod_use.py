"""CPU, memory and I/O of a pod's containers: kept only for the pods on screen."""

import msgspec

from cockpit.model.quantity import Absent, Reading


class PodUse(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Means over the last minutes. `uid` is the pod's: a recreated pod starts without values.

    The two network numbers are bytes a second through the pod's own interfaces (the node's, for a pod in the
    host's network). RDMA passes the kernel by and is in neither.
    """

    uid: str
    key: str = ""  # namespace/name of the pod
    cpu_cores: Reading = Absent.NOT_COLLECTED
    receive_bytes_per_second: Reading = Absent.NOT_COLLECTED
    transmit_bytes_per_second: Reading = Absent.NOT_COLLECTED
