"""The job of the scenario `training` is what the form makes."""

from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from cockpit.sim.scenarios.loading import find, load
from tests.unit.sim.training.trainer import FORM


def test_the_scenario_s_job_is_what_the_form_makes() -> None:
    made = render(load_library().named("mpijob"), FORM)
    (job,) = [
        step.apply for step in load(find("training")).steps if step.apply and step.apply["kind"] == "MPIJob"
    ]
    assert job == made
