"""What keys do to a job or a pool: every place that shows one mixes the same verbs in."""

from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.screens.life_verbs import LifeVerbs
from cockpit.screens.place import Place


class JobVerbs(LifeVerbs):
    """New, why, logs, yaml of the job that `chosen_job` names, and the verbs of its life."""

    def action_new_job(self) -> None:
        from cockpit.screens.submit import SubmitScreen

        self.app.push_screen(SubmitScreen())

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


class PodVerbs(Place):
    """A shell in the pod that `chosen_pod` names, and its log."""

    def chosen_pod(self) -> Pod | None:
        """The pod that the keys mean now; None when there is none."""
        return None

    def action_logs(self) -> None:
        from cockpit.screens.logs import LogsScreen

        pod = self.chosen_pod()
        if pod is None:
            self.app.notify("no pod under the cursor whose log could be shown", markup=False)
        else:
            self.app.push_screen(LogsScreen(f"pod/{pod.namespace}/{pod.name}", pod.uid))

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
