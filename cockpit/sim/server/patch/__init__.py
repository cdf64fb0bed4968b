"""The four kinds of patches and who owns which field: pure functions over JSON trees.

Nothing here changes what it is given; a result may share subtrees with its inputs.
"""

from cockpit.sim.server.patch.apply import apply
from cockpit.sim.server.patch.json_patch import json_patch
from cockpit.sim.server.patch.managed import update_managed
from cockpit.sim.server.patch.merge import merge
from cockpit.sim.server.patch.strategic import strategic

__all__ = ["apply", "json_patch", "merge", "strategic", "update_managed"]
