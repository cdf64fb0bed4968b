"""Pods that really run on a simulated node: those whose every image begins with a prefix that says so.

Scenarios never have such an image; people write it (`local/shell`). It is looked at once, when the kubelet
sees the pod for the first time: an image that is changed later runs nothing that did not run before.
"""

import msgspec

from cockpit.sim.actors.kubelet.runtime import Runtime
from cockpit.sim.port import Tree

PREFIX = "local/"
_SECTIONS = ("initContainers", "containers", "ephemeralContainers")


class Local(msgspec.Struct, frozen=True):
    """`runtime` plays the pods whose images all begin with `prefix`, and no other pod."""

    runtime: Runtime
    prefix: str = PREFIX

    def plays(self, pod: Tree) -> bool:
        """True when every container of the pod is to run here; with one other image none does."""
        images = [
            str(one.get("image", "")) for section in _SECTIONS for one in pod["spec"].get(section) or ()
        ]
        return bool(images) and all(image.startswith(self.prefix) for image in images)
