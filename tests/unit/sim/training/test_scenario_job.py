"""The job of the scenario `training` is what the form makes."""

from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from cockpit.sim.actors.kubelet.local_images import HOROVOD
from cockpit.sim.scenarios.loading import find, load


def test_the_scenario_s_job_is_what_the_form_makes() -> None:
    made = render(
        load_library().named("mpijob"),
        {
            "name": "cifar", "namespace": "vision", "image": HOROVOD, "launcher": "horovodrun",
            "command": "python /app/train.py --checkpoints /checkpoints/cifar",
            "checkpoint": "checkpoints:/checkpoints",
        },
    )  # fmt: skip
    (job,) = [
        step.apply for step in load(find("training")).steps if step.apply and step.apply["kind"] == "MPIJob"
    ]
    assert job == made
