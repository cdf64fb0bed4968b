"""Fixtures for suites that run on the bed; a conftest imports the names it wants.

    from tests.bed.fixtures import bed_apiserver, bed_full
    __all__ = ["bed_apiserver", "bed_full"]

`GPU_COCKPIT_BED` (set by `python -m tests.bed exec`) names a bed that is up: it is used instead of a fresh
one when it has the parts that are asked for.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.bed import sandbox
from tests.bed.bed import ENVIRONMENT_NAME, Bed
from tests.bed.cache import BedError
from tests.bed.layout import CONTROL_PLANE, FULL


def _report(line: str) -> None:
    print(f"bed: {line}", flush=True)


def attached(parts: Iterable[str]) -> Bed | None:
    """The bed that the environment names, when it has all of `parts`."""
    run_dir = os.environ.get(ENVIRONMENT_NAME)
    if not run_dir:
        return None
    bed = Bed.attach(Path(run_dir))
    return bed if set(parts) <= set(bed.parts) else None


def started(
    parts: Iterable[str], request: pytest.FixtureRequest, *, namespace: bool | None = None
) -> Iterator[Bed]:
    """The bed of the environment, else a fresh one for the session."""
    if (bed := attached(parts)) is not None:
        yield bed
    else:
        yield from fresh(parts, request, namespace=namespace)


def fresh(
    parts: Iterable[str],
    request: pytest.FixtureRequest,
    *,
    namespace: bool | None = None,
    generation: str = "",
) -> Iterator[Bed]:
    """A bed of the caller's own; its logs stay when a test of the session failed. `generation` "": by the
    environment, the newer engines without it."""
    bed = Bed(parts, report=_report, namespace=namespace, generation=generation)
    bed.start()
    try:
        yield bed
    finally:
        bed.keep_logs = request.session.testsfailed > 0
        if bed.keep_logs:
            _report(f"logs kept in {bed.layout.logs}")
        bed.stop()


@pytest.fixture(scope="session")
def bed_apiserver(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """etcd and kube-apiserver on free loopback ports, no namespace: up in about 3 s."""
    yield from started({"apiserver"}, request, namespace=False)


@pytest.fixture(scope="session")
def bed_control_plane(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """With kube-controller-manager and kube-scheduler: garbage collection, eviction, disruption budgets."""
    yield from started(CONTROL_PLANE, request, namespace=False)


@pytest.fixture(scope="session")
def bed_full(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Everything, in namespaces of its own; skips with one sentence where the machine forbids them."""
    if (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    try:
        yield from started(FULL, request)
    except BedError as error:
        pytest.fail(str(error))
