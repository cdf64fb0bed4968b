"""`P` on a queue: stop it, for new jobs or for all, or let it admit again."""

from cockpit_widgets import ChoiceDialog
from cockpit_widgets.types import ChoiceItem

from cockpit.errors import CockpitError
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.plan import Outcome, Plan
from cockpit.screens.place import Place
from cockpit.views.queues import QueueRow

Queue = LocalQueue | ClusterQueue


class QueueVerbs(Place):
    """Stop and resume the queue that `chosen_queue` names, or the cluster queue behind it."""

    def chosen_queue(self) -> QueueRow | None:
        """The row that the key means now; None when there is none."""
        return None

    def action_hold(self) -> None:
        row = self.chosen_queue()
        if row is None:
            self.app.notify("no queue under the cursor to stop", markup=False)
        else:
            self.deck.run_soon(self._hold(row), "queue")

    async def _hold(self, row: QueueRow) -> None:
        from cockpit.actions.queue import full_name

        queues = {full_name(one): one for one in (row.local, row.cluster) if one is not None}
        items = [item for name, queue in queues.items() for item in self._choices(name, queue)]
        chosen = await self.app.push_screen_wait(ChoiceDialog(f"Queue {row.name}", items))
        if chosen is None:
            return
        what, _, name = chosen.partition(" ")
        await self._ask(what, queues[name].uid, isinstance(queues[name], LocalQueue))

    def _choices(self, name: str, queue: Queue) -> list[ChoiceItem]:
        from cockpit.actions.queue import is_stopped

        kind = "LocalQueue" if isinstance(queue, LocalQueue) else "ClusterQueue"
        title = kind if isinstance(queue, LocalQueue) else f"{kind} {queue.name}"
        items = []
        if is_stopped(queue):
            items.append(
                ChoiceItem(f"resume {name}", f"resume {title}", f"it is stopped ({queue.stop_policy})")
            )
        if queue.stop_policy != "Hold":
            items.append(ChoiceItem(f"hold {name}", f"stop {title}", "what runs stays"))
        if queue.stop_policy != "HoldAndDrain":
            items.append(ChoiceItem(f"drain {name}", f"drain {title}", "what runs is taken off"))
        return items

    async def _ask(self, what: str, uid: str, is_local: bool) -> None:
        async def again(*, reads: bool = False) -> Plan:
            return await self._plan(what, uid, is_local=is_local, reads=reads)

        try:
            shown = await again()
        except CockpitError as error:
            self.app.notify(error.sentence, markup=False)
            return
        self.deck.confirm_and_carry(shown, again=again, then=self._held)

    async def _plan(self, what: str, uid: str, *, is_local: bool, reads: bool) -> Plan:
        from cockpit.actions.queue import plan_queue_resume, plan_queue_stop, queue_as_read
        from cockpit.errors import Refused
        from cockpit.model.record import Kind
        from cockpit.screens.acting import ground_of

        self.deck.attachment.absorb()
        store, lookup, context = self.deck.attachment.store, self.deck.lookup, self.deck.context
        queue = store.get(Kind.LOCAL_QUEUE if is_local else Kind.CLUSTER_QUEUE, uid)
        if queue is None:
            raise Refused("the queue is gone")
        if reads:
            queue = await queue_as_read(ground_of(self.deck).session, queue, lookup)
        if what == "resume":
            return plan_queue_resume(queue, lookup=lookup, context=context)
        return plan_queue_stop(queue, store, drain=what == "drain", lookup=lookup, context=context)

    def _held(self, outcome: Outcome) -> None:
        self.show()
