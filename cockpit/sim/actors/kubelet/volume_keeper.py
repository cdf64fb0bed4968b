"""What of volumes moves while pods run: files that follow their ConfigMap or Secret, claims that go.

Only pods that really run (the process runtime) have such files. An actor of its own: a cluster without such
pods reads no ConfigMap for them. Source: Kubernetes 1.36 pkg/kubelet/volumemanager; there it takes up to a
sync period and the time to live of a cache, here it follows at once.
"""

from collections.abc import Iterable

from cockpit.sim.actors.kubelet.actor import Kubelets
from cockpit.sim.actors.kubelet.runtime import Runtime
from cockpit.sim.actors.kubelet.settings import MountFailed, volume_files
from cockpit.sim.engine import Actor, Key
from cockpit.sim.port import ChangeType, ObjectChange, Tree
from cockpit.sim.resources import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, SECRETS

_CLAIM, _FILES = "claim", "files"


class VolumeKeeper(Actor):
    """Keeps volumes of the pods that `runtime` plays for `kubelets`."""

    name = "kubelet-volumes"
    watches = (CONFIG_MAPS, SECRETS, PERSISTENT_VOLUME_CLAIMS)

    def __init__(self, kubelets: Kubelets, runtime: Runtime) -> None:
        super().__init__()
        self._kubelets = kubelets
        self._runtime = runtime

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """Claims that are gone; pods with a volume of what has changed."""
        metadata = change.tree["metadata"]
        if change.resource == PERSISTENT_VOLUME_CLAIMS:
            if change.type is ChangeType.DELETED:
                yield (_CLAIM, metadata["uid"])
            return
        if before is None or change.type is not ChangeType.MODIFIED:
            return
        for (namespace, name), run in self._kubelets.pods.items():
            if namespace == metadata["namespace"] and run.is_prepared and not run.is_final:
                yield (_FILES, namespace, name)

    async def reconcile(self, key: Key) -> None:
        """One claim, or the files of one pod."""
        match key:
            case ("claim", uid):
                await self._runtime.forget_claim(uid)
            case ("files", namespace, name):
                run = self._kubelets.run_of(namespace, name)
                if run is None or self._kubelets.runtime_of(run) is not self._runtime:
                    return
                try:
                    files = await volume_files(self.engine.port, run.pod, host=self._kubelets.endpoint.host)
                except MountFailed:
                    return  # what was there stays, as with the real one
                await self._runtime.follow(run.pod, files)
