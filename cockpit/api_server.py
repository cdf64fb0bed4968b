"""What the screens ask the API server for, through a session that they never see."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cockpit.actions.demand_reads import read_standing
from cockpit.actions.enter import enter
from cockpit.actions.execute.broken_writes import acknowledge, read_left_over
from cockpit.actions.execute.dry_run import rehearse
from cockpit.actions.execute.execute_plan import real_perform
from cockpit.actions.field_choices import ask_offers, ask_topologies
from cockpit.actions.flag_reads import read_flags
from cockpit.actions.forward import find_board, hold_open, read_ports, why_over
from cockpit.actions.idle_reads import IdleReads, judge_all, read_idle, read_idle_once
from cockpit.actions.named_objects import refuse_absent
from cockpit.actions.owner_reads import read_owner_tree
from cockpit.actions.scaler_reads import read_scalers
from cockpit.actions.surroundings import ask_surroundings
from cockpit.actions.verdict_reads import SharedReads, read_on_demand, with_planned_reads, with_reads
from cockpit.errors import BadInput, BadValue, NoConnection
from cockpit.kube.discovery import Served, discover
from cockpit.kube.kubeconfig import context_names, context_namespaces
from cockpit.kube.log_fan_in import LogFanIn, read_once
from cockpit.kube.log_streams import refuse_unsplit
from cockpit.kube.object_details import detail_of
from cockpit.kube.objects import get_object
from cockpit.kube.pod_times import read_times
from cockpit.kube.tables import read_table
from cockpit.local_state.audit import local_user
from cockpit.model.batch import Batch
from cockpit.model.log import Life, LogLine, LogSource, LogWish
from cockpit.model.object_table import ObjectAddress, ObjectDetail, ObjectKind, ObjectTable, OwnedObject
from cockpit.model.plan import Outcome, Plan
from cockpit.model.pod import Pod
from cockpit.model.pod_times import PodTimes
from cockpit.model.record import Kind
from cockpit.pools.capacity import demand_name
from cockpit.triage.engine import job_behind
from cockpit.yaml_text import yaml_text

if TYPE_CHECKING:
    from cockpit.actions.enter import Entrance, Join
    from cockpit.actions.execute.broken_writes import AuditRead
    from cockpit.actions.execute.execute_plan import AuditLog
    from cockpit.actions.field_choices import Offer
    from cockpit.actions.forward import DeclaredPort, Passage, Stay
    from cockpit.actions.surroundings import Needs
    from cockpit.actions.verdict_reads import LogKey
    from cockpit.attach import Attachment
    from cockpit.fit.scheduling_context import Surroundings
    from cockpit.gangs.engine import Topologies
    from cockpit.kube.session import ApiSession
    from cockpit.model.broken_write import BrokenWrite
    from cockpit.model.finding import Subject
    from cockpit.model.pool import Pool, StandingRead
    from cockpit.model.scaler import ScalersRead
    from cockpit.triage.context import ClusterView

YAML_CELLS = 110
"""Longer values of a manifest are folded."""


class ApiServer:
    """Reads of one attachment on demand. All but `rehearse` raise NoConnection without a session."""

    def __init__(self, attachment: "Attachment") -> None:
        self._attachment = attachment

    # ---- objects

    async def contexts(self) -> tuple[str, ...]:
        """Names of the contexts in the kubeconfig. Raises NoConnection where it cannot be read."""
        names: tuple[str, ...] = await asyncio.to_thread(context_names, self._attachment.options.kubeconfig)
        return names

    async def context_namespaces(self) -> tuple[str, ...]:
        """Namespaces that contexts of this cluster name in the kubeconfig. Raises NoConnection."""
        kubeconfig, context = self._attachment.options.kubeconfig, self._attachment.context
        return await asyncio.to_thread(context_namespaces, kubeconfig, context)

    def ask_again(self) -> None:
        """Ask now for kinds that were refused or not served; without a session nothing is asked."""
        if (session := self._attachment.session) is not None:
            session.pulse.ask_again()

    async def read_yaml(self, api_version: str, kind: str, namespace: str, name: str) -> list[str]:
        """Lines of one object as YAML, read now. Raises CockpitError with one sentence."""
        tree = await self._tree(ObjectAddress(api_version, kind, namespace, name))
        return (await asyncio.to_thread(yaml_text, tree, YAML_CELLS)).splitlines()

    async def read_detail(self, address: ObjectAddress) -> ObjectDetail:
        """What one object says of itself, read now. Raises CockpitError with one sentence."""
        return detail_of(await self._tree(address))

    async def read_owners(self, address: ObjectAddress) -> OwnedObject:
        """Which objects own it and what these own. Raises CockpitError with one sentence."""
        session, store = self._attachment.connected(), self._attachment.store
        return await read_owner_tree(session, self._served(), store, address)

    def kinds(self) -> tuple[ObjectKind, ...]:
        """Kinds that the server lists; none while that is not known."""
        served = self._attachment.served
        return () if served is None else served.listed_kinds()

    async def read_table(self, kind: ObjectKind) -> ObjectTable:
        """The objects of a kind in the namespaces in force. Raises CockpitError with one sentence."""
        session, resource = self._attachment.connected(), self._served().resource(kind.api_version, kind.kind)
        names = self._attachment.namespaces.names if kind.is_namespaced else ()
        read = [await read_table(session, resource, name) for name in names or ("",)]
        rows = tuple(row for table in read for row in table.rows)
        return ObjectTable(read[0].columns, rows, any(table.left_out for table in read))

    async def _tree(self, address: ObjectAddress) -> dict[str, Any]:
        session, served = self._attachment.connected(), self._served()
        return await get_object(session, served.resource(address.api_version, address.kind), *address[2:])

    def _served(self) -> Served:
        served = self._attachment.served
        if served is None:
            raise NoConnection("what this server serves is not known yet; try again in a moment")
        return served

    async def read_times(self, namespace: str, pod: str) -> PodTimes:
        """When a pod was bound and started. Raises CockpitError with one sentence."""
        return await read_times(self._attachment.connected(), namespace, pod)

    # ---- logs

    def follow_logs(self, wish: LogWish, sink: Callable[[list[LogLine]], None]) -> LogFanIn:
        """A reader of many logs; it says itself what it cannot read."""
        return LogFanIn(self._attachment.connected, wish, sink, self._life)

    async def refuse_unsplit(self, source: LogSource) -> None:
        """Raises CockpitError with one sentence where one stream of a log alone cannot be had."""
        await refuse_unsplit(self._attachment.connected(), source)

    async def read_log(
        self,
        source: LogSource,
        *,
        tail_lines: int | None = None,
        limit_bytes: int | None = None,
        is_previous: bool = False,
    ) -> list[LogLine]:
        """The last or the first lines of one log. Raises CockpitError with one sentence."""
        return await read_once(
            self._attachment.connected(),
            source,
            tail_lines=tail_lines,
            limit_bytes=limit_bytes,
            is_previous=is_previous,
        )

    def _life(self, uid: str) -> Life:
        pod = self._attachment.store.get(Kind.POD, uid)
        if not isinstance(pod, Pod):
            return Life(is_over=True)
        return Life(is_over=pod.is_finished, restarts=pod.restarts)

    async def read_scalers(self) -> "ScalersRead":
        """The autoscalers of pods in the namespaces in force. Raises NoConnection."""
        return await read_scalers(self._attachment.connected(), self._attachment.namespaces)

    async def read_flags(self) -> None:
        """Read into the store with which flags pool owners were started. Raises NoConnection."""
        one = self._attachment
        found = await read_flags(one.connected(), one.store, one.clock.cluster_now())
        if found:
            one.sink(Batch(kind=Kind.OWNER_FLAGS, changed=found))

    async def read_standing(self, pool: "Pool") -> "StandingRead":
        """What of ours asks for nodes of the pool. Raises NoConnection."""
        session, lookup = self._attachment.connected(), self._attachment.lookup
        return await read_standing(session, lookup, demand_name(pool))

    # ---- what a form asks

    async def ask_choices(self, sources: Iterable[str], namespace: str) -> "Mapping[str, Offer]":
        """What the cluster offers for fields of a form, by source. Raises CockpitError."""
        return await ask_offers(self._attachment.connected(), self._attachment.lookup, sources, namespace)

    async def ask_topologies(self) -> "Topologies | None":
        """The topologies of the cluster, None if unknown. Raises CockpitError."""
        return await ask_topologies(self._attachment.connected(), self._attachment.lookup)

    async def ask_surroundings(self, needs: "Needs") -> "Surroundings":
        """Claims, budgets and the like that a gang needs. Raises NoConnection."""
        return await ask_surroundings(self._attachment.connected(), needs)

    async def ask_verdict(
        self,
        subject: "Subject",
        view: "ClusterView",
        lines: "dict[LogKey, str]",
        folders: tuple[Path, ...] = (),
        shared: SharedReads | None = None,
    ) -> "ClusterView":
        """The view with all further inputs of a verdict about the subject; `lines` caches log lines,
        `folders` contain further templates, `shared` is what was read for other subjects of the same round.
        Raises NoConnection."""
        one = self._attachment
        session = await self._discovered()
        known, job = one.verdicts.on_demand.idle, job_behind(subject, view)
        due = () if job is None else known.due((job,), one.store, view.now_seconds)
        await judge_all(known, due, self._idle_reads(), view.now_seconds)
        return await with_reads(session, one.lookup, subject, view, lines, folders=folders, shared=shared)

    async def read_for_planned(
        self, manifest: dict[str, Any], view: "ClusterView", namespace: str
    ) -> "ClusterView":
        """The view with what the start of a job that is not submitted yet rests on. Raises NoConnection."""
        session, lookup = self._attachment.connected(), self._attachment.lookup
        return await with_planned_reads(session, lookup, manifest, view, namespace)

    async def read_on_demand(self, rows: Iterable[tuple[Pod, ...]]) -> bool:
        """Read what rows (the members of each) rest on and no watch covers; whether anything new was learnt.
        Raises NoConnection."""
        one = self._attachment
        session, now_seconds = await self._discovered(), one.clock.cluster_now()
        before = one.store.revision
        if one.verdicts.on_demand.needs_budgets(one.store, now_seconds):  # a page shows what may go
            await self.read_flags()
        is_new = await read_on_demand(session, one.lookup, one.verdicts, rows, now_seconds)
        return is_new or one.store.revision != before

    async def _discovered(self) -> "ApiSession":
        """The session, once it is known what the server serves. Raises NoConnection."""
        session = self._attachment.connected()
        if self._attachment.served is None:
            self._attachment.served = await discover(session)
        return session

    async def read_left_over(self, log: "AuditRead") -> bool:
        """Find the writes and drains that sessions on this host began and did not end, with what became of
        them; whether anything new was learnt. Raises NoConnection, BadInput where the log cannot be read."""
        one = self._attachment
        found = await read_left_over(one.connected(), log, local_user(), one.clock)
        return one.verdicts.on_demand.take_left_over(found.writes, found.drains)

    def acknowledge_write(self, audit_id: str, log: "AuditLog") -> "BrokenWrite":
        """Note that a person knows of that write, which was broken off; it is not told again. Raises BadInput
        where none has that id or the line cannot be written, NoConnection."""
        one = self._attachment
        known = one.verdicts.on_demand
        write = next((it for it in known.broken_writes if it.audit_id == audit_id), None)
        if write is None:
            raise BadInput(f"{audit_id}: no write with that audit id was broken off here; see cockpit triage")
        acknowledge(write, one.connected(), log, one.clock)
        rest = tuple(it for it in known.broken_writes if it.audit_id != audit_id)
        known.take_left_over(rest, known.ended_drains)
        return write

    async def read_idle_jobs(self) -> bool:
        """Judge some of the jobs that look idle by what they did over the last hours; whether anything new
        was learnt. Raises NoConnection."""
        one = self._attachment
        known = one.verdicts.on_demand.idle
        return await read_idle(known, one.jobs.jobs, self._idle_reads(), one.clock.cluster_now())

    async def read_idle_jobs_once(self) -> None:
        """Judge all of them, as far as one gets in some seconds. Raises NoConnection."""
        one = self._attachment
        known = one.verdicts.on_demand.idle
        await read_idle_once(known, one.jobs.jobs, self._idle_reads(), one.clock.cluster_now())

    def _idle_reads(self) -> IdleReads:
        one = self._attachment
        return IdleReads(one.store, one.connected(), one.lines)

    async def rehearse(self, plan: Plan) -> Outcome:
        """What the server would say to the plan, by a dry run."""
        try:
            session = self._attachment.connected()
        except NoConnection as error:
            return Outcome(state="failed", sentence=error.sentence)
        return await rehearse(plan, session, perform=real_perform())

    async def absent_names(self, plan: Plan, namespace: str) -> dict[str, str]:
        """Queue and priority class of a new job that the cluster does not have: a sentence by field."""
        session = self._attachment.connected()
        try:
            for made in plan.contends:
                await refuse_absent(session, self._attachment.lookup, made.manifest or {}, namespace)
        except BadValue as error:
            return {error.field: error.fault}
        return {}

    # ---- ways into a pod

    async def find_board(self, job: str, members: Iterable[Pod]) -> "Passage":
        """Where the job's TensorBoard is. Raises BadInput where no member tells of one, Refused."""
        return await find_board(self._attachment.connected(), job, members)

    async def read_ports(self, pod: Pod) -> "tuple[DeclaredPort, ...]":
        """The ports that the pod's containers declare, read now. Raises CockpitError."""
        return await read_ports(self._attachment.connected(), pod)

    def why_over(self, passage: "Passage") -> str:
        """Why there is no port any more to forward to, "" while there is."""
        return why_over(passage, self._attachment.store)

    async def hold_open(
        self, passage: "Passage", audit: "AuditLog", stay: "Stay", *, changed: Callable[[], None]
    ) -> str:
        """Forward a port until `stay` ends; answers why it ended. Raises CockpitError."""
        session, clock = self._attachment.connected(), self._attachment.clock
        return await hold_open(passage, session, audit, clock, stay, changed=changed)

    async def enter(self, entrance: "Entrance", audit: "AuditLog", join: "Join") -> int:
        """Run a command in a pod; answers its exit code. Raises CockpitError."""
        return await enter(entrance, self._attachment.connected(), audit, self._attachment.clock, join)
