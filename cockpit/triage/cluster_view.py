"""What a verdict is reached from: the store, the rows of jobs, the time, and what was read on demand."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cockpit.fit.surroundings import UNKNOWN, Surroundings
from cockpit.model.job_reader import JobReader
from cockpit.model.store_reader import StoreReader

Trees = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
"""Objects as the API gave them, by (kind, namespace); "" where the kind has no namespace. A pair that is
missing was not read, or may not be: nothing is known of such objects. Objects of a pair may hold their
metadata only."""

NO_TREES: Trees = {}


class ClusterView(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster at one moment. `last_lines` are the last lines that crashed containers wrote, by the pod's
    uid."""

    store: StoreReader
    jobs: JobReader
    now_seconds: float
    last_lines: Mapping[str, str] = {}
    around: Surroundings = UNKNOWN
    trees: Trees = NO_TREES
