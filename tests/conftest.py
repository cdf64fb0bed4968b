"""What all tests share: hypothesis judges what code does, never how fast this machine is."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from cockpit.gc_tuning import expect_many
from tests.reliability.figures import declare, figure, pytest_runtest_makereport

__all__ = ["figure", "pytest_runtest_makereport"]

settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

# rich keeps the codes of a style as it first rendered it: a test whose console has other colours than the
# next one's would leave it codes of its own
os.environ["COLORTERM"] = "truecolor"

expect_many()  # rounds of the garbage collector are as rare as in the program itself: an eighth of all CPU

_A_CORE = 2.5
"""Workers of pytest-xdist for one core: half of a test's time goes by in waiting (a screen that settles, a
second of the embedded cluster), so one worker a core leaves half of the machine idle, and two a sixth."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` comes to."""
    return round(_A_CORE * (os.cpu_count() or 1))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that mostly wait come first, at the head of what two of the workers begin with.

    Each worker begins with its share in the order of the list. At the end of it they would wait alone, and on
    all workers at once they would leave the machine idle.
    """
    workers = int(getattr(config, "workerinput", {}).get("workercount", 1))
    waiting = [one for one in items if one.get_closest_marker("waits")]
    others = [one for one in items if not one.get_closest_marker("waits")]
    second = len(items) // workers - len(waiting[::2])
    if workers > 1 and second > 0:
        items[:] = [*waiting[::2], *others[:second], *waiting[1::2], *others[second:]]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Six thousand collected tests stay to the end: the collector need not look at them again and again."""
    declare(session.items)
    gc.collect()
    gc.freeze()
