"""What the tests of job rows share."""

import pytest

from tests.unit.jobs.builders import Cluster


@pytest.fixture
def cluster() -> Cluster:
    """An empty cluster with its index of jobs."""
    return Cluster()
