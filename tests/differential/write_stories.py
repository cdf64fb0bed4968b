"""Stories of requests to an API server without controllers; both servers are to answer and to tell the same.

A step is (method, path, body, options). In paths `C` is the core collection root of the story's namespace
(`/api/v1/namespaces/NS`), `B` batch/v1's, `A` apps/v1's, `P` policy/v1's; a path that begins with `/` is
taken as it is, with NS replaced. Options: `query`, `type` (content type of a patch), `save` (a name under
which the answer is kept: `{name.uid}`, `{name.version}` in later bodies and paths).

Not in here, and different: claims and volumes get no protecting finalizer (nobody would take it off), and
a second, equal apply of a Job writes nothing.
"""

from tests.differential.write_steps import Step
from tests.differential.write_stories_of_devices import DEVICE_STORIES
from tests.differential.write_stories_of_kinds import KIND_STORIES
from tests.differential.write_stories_of_pods import POD_STORIES

STORIES: dict[str, list[Step]] = {**POD_STORIES, **KIND_STORIES, **DEVICE_STORIES}


WATCHED = ("C/configmaps", "C/pods", "B/jobs", "A/deployments", "A/replicasets", "A/daemonsets", "C/services")
"""Collections whose whole history both servers are to tell alike."""
