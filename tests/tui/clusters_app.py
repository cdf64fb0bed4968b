"""Several clusters in one cockpit without any server: the same names in each, one of them not reached."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import Attachment, AttachOptions, Link
from cockpit.clock import ManualClock
from tests.tui.deck import fill
from tests.tui.estate import NOW, Estate


class Sent:
    """What was asked of the servers: (context, method, path), dry runs and reads apart."""

    def __init__(self) -> None:
        self.writes: list[tuple[str, str, str]] = []
        self.reviews: list[str] = []

    def listen(self, context: str, attachment: Attachment) -> None:
        """Note what is sent to this cluster from now on."""
        session: Any = attachment.session
        answer = session.request

        async def request(method: str, path: str, **more: Any) -> Any:
            is_dry = ("dryRun", "All") in tuple(more.get("query") or ())
            if path.endswith("/selfsubjectaccessreviews"):
                self.reviews.append(context)
            elif method != "GET" and not is_dry:
                self.writes.append((context, method, path))
            return await answer(method, path, **more)

        session.request = request


class Empty(Estate):
    """A cluster with nothing in it but lists that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.records = {kind: [] for kind in self.records}


class ClustersApp(CockpitApp):
    """`east` may be written, `west` is read-only, `dead` was never reached; with `estates` others."""

    def __init__(
        self,
        estates: Mapping[str, Estate | None] | None = None,
        *,
        write: tuple[str, ...] = ("east",),
        place: str = "now",
        state_folder: Path | None = None,
    ) -> None:
        made = {"east": Estate(), "west": Estate(), "dead": None} if estates is None else estates
        first, *others = (AttachOptions(context=name, write=name in write) for name in made)
        options = AppOptions(
            first,
            attach_also=tuple(others),
            attach=False,
            first_place=place,
            state_folder=state_folder,
        )
        super().__init__(options, clock=ManualClock(NOW), rng=random.Random(1))
        self.sent = Sent()
        for cluster, (name, estate) in zip(self.clusters, made.items(), strict=True):
            attachment = cluster.attachment
            if estate is None:
                attachment.link, attachment.sentence = Link.WAITING, "no answer from https://dead.example"
                continue
            fill(attachment, estate, write=name in write, context=name)
            self.sent.listen(name, attachment)
