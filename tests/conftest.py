"""What all tests share: hypothesis judges what code does, never how fast this machine is."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from cockpit.collector import expect_many

settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

expect_many()  # rounds of the garbage collector are as rare as in the program itself: an eighth of all CPU

_A_CORE = 2.5
"""Workers of pytest-xdist for one core: half of a test's time goes by in waiting (a screen that settles, a
second of the embedded cluster), so one worker a core leaves half of the machine idle, and two a sixth."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` comes to."""
    return round(_A_CORE * (os.cpu_count() or 1))


def pytest_collection_finish() -> None:
    """Six thousand collected tests stay to the end: the collector need not look at them again and again."""
    gc.collect()
    gc.freeze()
