"""The four kinds of patches and who owns which field: pure functions over JSON trees.

Nothing here changes what it is given; a result may share subtrees with its inputs.
"""

from cockpit.sim.server.patch.json_patch import json_patch
from cockpit.sim.server.patch.merge import merge

__all__ = ["json_patch", "merge"]
