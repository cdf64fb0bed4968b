"""The name of the context is known before it can be used, and also where it cannot."""

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cockpit.attach import Attachment, AttachOptions, Link
from cockpit.clock import ManualClock

DEAD = {"server": "http://127.0.0.1:1"}
LOGIN = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/false"}}


def attachment(
    folder: Path, user: dict[str, object], cluster: str, context: str | None, moved: Callable[[], None]
) -> Attachment:
    tree = {
        "kind": "Config",
        "current-context": "prod-eu",
        "contexts": [{"name": "prod-eu", "context": {"cluster": cluster, "user": "ada"}}],
        "clusters": [{"name": "dead", "cluster": DEAD}],
        "users": [{"name": "ada", "user": user}],
    }
    path = folder / "config"
    path.write_text(json.dumps(tree))
    options = AttachOptions(kubeconfig=str(path), context=context)
    return Attachment(options, ManualClock(), random.Random(1), moved)


@pytest.mark.parametrize(
    ("user", "cluster", "context", "wanted", "link"),
    [
        ({"token": "t"}, "dead", None, "prod-eu", Link.WAITING),
        (LOGIN, "dead", None, "prod-eu", Link.FAILED),
        ({"token": "t"}, "missing", None, "prod-eu", Link.FAILED),
        ({"token": "t"}, "dead", "stage", "stage", Link.FAILED),
    ],
    ids=["server down", "login fails", "broken context", "unknown context"],
)
async def test_the_context_has_its_name_without_a_session(
    tmp_path: Path, user: dict[str, object], cluster: str, context: str | None, wanted: str, link: Link
) -> None:
    moved = asyncio.Event()
    made = attachment(tmp_path, user, cluster, context, moved.set)
    task = asyncio.create_task(made.run())
    try:
        async with asyncio.timeout(30):
            while made.link is not link:
                await moved.wait()
                moved.clear()
        assert made.context == wanted
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_without_a_kubeconfig_there_is_no_name(tmp_path: Path) -> None:
    options = AttachOptions(kubeconfig=str(tmp_path / "none"))
    made = Attachment(options, ManualClock(), random.Random(1), lambda: None)
    await made.run()
    assert (made.link, made.context) == (Link.FAILED, "")
