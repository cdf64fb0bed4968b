"""What keys do to a job or a pool: every place that shows one mixes the same verbs in."""

from cockpit.errors import CockpitError
from cockpit.model.job import Job
from cockpit.model.plan import Outcome, Plan
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.screens.place import Place


class JobVerbs(Place):
    """New, kill, why, logs, yaml of the job that `chosen_job` names."""

    def chosen_job(self) -> Job | None:
        """The job that the keys mean now; None when there is none."""
        return None

    def action_new_job(self) -> None:
        from cockpit.screens.submit import SubmitScreen

        self.app.push_screen(SubmitScreen())

    def action_kill(self) -> None:
        """Plan, show, and after the yes plan again: a running job's version moves while one reads."""
        from cockpit.actions.kill import confirmed, plan_kill

        job = self.chosen_job()
        if job is None:
            self.say("no job under the cursor to kill")
            return
        key = job.key

        def make() -> Plan:
            now = self.deck.attachment.jobs.job(key)
            return plan_kill(
                now or job, self.deck.attachment.store, lookup=self.deck.lookup, context=self.deck.context
            )

        try:
            shown = make()
        except CockpitError as error:
            self.say(error.sentence)
            return
        self.deck.confirm_and_carry(shown, again=lambda: confirmed(shown, make()), then=self._killed)

    def _killed(self, outcome: Outcome) -> None:
        self.show()

    def action_why(self) -> None:
        from cockpit.screens.text import WhyScreen

        job = self.chosen_job()
        if job is None:
            self.say("no job under the cursor to explain")
            return
        self.app.push_screen(WhyScreen(job.key))

    def action_logs(self) -> None:
        from cockpit.screens.logs import LogsScreen

        job = self.chosen_job()
        if job is None:
            self.say("no job under the cursor whose logs could be shown")
            return
        self.app.push_screen(LogsScreen(job.key))

    def action_yaml(self) -> None:
        from cockpit.screens.text import YamlScreen

        job = self.chosen_job()
        if job is None:
            self.say("no job under the cursor to show as YAML")
            return
        self.app.push_screen(YamlScreen(job.api_version, job.kind, job.namespace, job.name))

    def say(self, sentence: str) -> None:
        """A small remark that changes nothing."""
        self.app.notify(sentence, markup=False, timeout=5)


class PodVerbs(Place):
    """A shell in the pod that `chosen_pod` names."""

    def chosen_pod(self) -> Pod | None:
        """The pod that the keys mean now; None when there is none."""
        return None

    def action_enter_pod(self) -> None:
        pod = self.chosen_pod()
        if pod is None:
            self.app.notify("no pod under the cursor to enter", markup=False)
        else:
            self.deck.enter_pod(pod)


class PoolVerbs(Place):
    """Scale the pool that `chosen_pool` names."""

    def chosen_pool(self) -> Pool | None:
        """The pool that the keys mean now; None when there is none."""
        return None

    def action_scale(self) -> None:
        from cockpit.screens.scale import ScaleScreen

        pool = self.chosen_pool()
        if pool is None:
            self.app.notify("no pool under the cursor to scale", markup=False)
        elif pool.why_not:
            self.app.notify(f"{pool.name}: {pool.why_not}", severity="warning", markup=False)
        else:
            self.app.push_screen(ScaleScreen(pool.name))
