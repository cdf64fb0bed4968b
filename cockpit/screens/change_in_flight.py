"""A change of a pool's size that was begun here: its hold is kept while the app runs, and its end is told."""

import asyncio
from typing import TYPE_CHECKING

from cockpit.actions.pool_follow import End, Follower, set_back_words
from cockpit.model.plan import Hold

if TYPE_CHECKING:
    from cockpit.app import CockpitApp


async def follow(app: "CockpitApp", hold: Hold) -> None:
    """Until it is over; what undid it is said."""
    attachment = app.attachment
    session = attachment.session
    if session is None:
        return
    follower = Follower(hold, lambda: attachment.store, session, app.audit, app.clock, asyncio.sleep)
    found = await follower.to_the_end()
    if found.end is End.SET_BACK:
        told = await set_back_words(session, attachment.store, hold, found)
        app.notify(told, severity="error", markup=False, timeout=30)
    elif found.end is End.GONE:
        app.notify(f"pool {hold.pool} is gone", severity="error", markup=False, timeout=30)
