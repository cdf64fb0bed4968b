"""The cockpit on the scripted estate as a program of its own: `python -m tests.tui.scripted --place jobs`."""

import argparse

from cockpit.model.batch import Batch
from cockpit.model.event import Event
from cockpit.model.gang import LocalQueue
from cockpit.model.job import OwnerObject
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from tests.tui.deck import ScriptedApp
from tests.tui.estate import NOW, Estate
from tests.tui.pools_estate import PoolsApp, PoolsEstate

TITLE = "\x1b]0;owned\x07"
CLIPBOARD = "\x1b]52;c;b3duZWQ=\x07"
HOSTILE = f"{TITLE}{CLIPBOARD}\x1b[2J\x1b[?1049l\x9b31m[red]x[/red]\u202egnp.exe\r\n\tz"
"""What nobody should be able to do to a terminal by naming a pod: title, clipboard, erasing, markup, bidi."""


def hostile() -> list[Batch]:
    """Records as no decoder would hand them over: unclean text straight in names and messages."""
    pod = Pod(
        uid="pod-hostile",
        name=f"aa-{HOSTILE}",
        namespace="aa",
        phase="Pending",
        gpus=8,
        gpu_resource="nvidia.com/gpu",
        created_seconds=NOW - 1_000,
        scheduled="False",
        scheduled_reason="Unschedulable",
        scheduled_message=f"0/38 nodes: {HOSTILE}",
        owner_api_version="x.io/v1",
        owner_kind="Trainer",
        owner_name=f"aa-{HOSTILE}",
        owner_uid="owner-hostile",
    )
    owner = OwnerObject(
        uid="owner-hostile",
        name=f"aa-{HOSTILE}",
        namespace="aa",
        api_version="x.io/v1",
        kind="Trainer",
        created_seconds=NOW - 1_000,
    )
    event = Event(
        uid="event-hostile",
        name="e",
        namespace="aa",
        type="Warning",
        reason=f"Odd{HOSTILE}",
        message=HOSTILE,
        last_seconds=NOW - 2,
        object_kind="Node",
        object_name=HOSTILE,
    )
    queue = LocalQueue(uid="lq-hostile", name=f"aa-{HOSTILE}", namespace="aa", cluster_queue=HOSTILE)
    records = ((Kind.POD, pod), (Kind.OWNER, owner), (Kind.EVENT, event), (Kind.LOCAL_QUEUE, queue))
    return [Batch(kind=kind, changed=(record,)) for kind, record in records]


def main() -> None:
    """Open the cockpit and stay until somebody leaves."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--place", default="now")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--hostile", action="store_true", help="names that attack the terminal")
    parser.add_argument("--growing", action="store_true", help="a pool is half way from 2 to 4")
    chosen = parser.parse_args()
    estate = PoolsEstate() if chosen.growing else Estate()
    of = PoolsApp if chosen.growing else ScriptedApp
    app = of(estate, write=chosen.write, place=chosen.place)
    if chosen.hostile:
        for batch in hostile():
            app.attachment.store.apply(batch)
        app.attachment.jobs.catch_up()
    app.run()


if __name__ == "__main__":
    main()
