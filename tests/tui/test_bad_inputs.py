"""Bad input in every kind of field: refused at its field in one sentence, by form and by command alike."""

import pytest
from cockpit_widgets import Form
from cockpit_widgets.form_row import FieldRow

from cockpit.jobs.render import faults
from cockpit.jobs.template import load_library
from cockpit.screens.submit import SubmitScreen
from tests.tui.deck import settle
from tests.tui.estate import Estate
from tests.tui.offering import OfferingApp
from tests.unit.cli.builders import run
from tests.unit.cli.test_commands import Capture

GOOD = {"name": "llm", "image": "r.example/t:1"}
FEW = " ".join(f"K{at}=1" for at in range(65))
BAD: tuple[tuple[str, str, str], ...] = (
    # names
    ("name", "", "a value is required"),
    ("name", "LLM", "use lower-case letters"),
    ("name", "my_job", "use lower-case letters"),
    ("name", "my job", "use lower-case letters"),
    ("name", "7b", "begin with a letter"),
    ("name", "llm-", "end with a letter or digit"),
    ("name", "llm.v2", "use lower-case letters"),
    ("name", "größe", "use lower-case letters"),
    ("name", "a" * 49, "49 characters, at most 48"),
    ("name", "a" * 64, "64 characters, at most 48"),
    ("namespace", "Team_A", "use lower-case letters"),
    ("queue", "gpu lq", "use lower-case letters"),
    ("priority", "High", "is not a valid name"),
    ("pod-priority", "batch/high", "is not a valid name"),
    ("node", "gpu 01", "is not a valid name"),
    ("pull-secret", "reg_cred", "is not a valid name"),
    ("service-account", "Trainer", "is not a valid name"),
    # numbers
    ("workers", "0", "0 is too small, at least 1"),
    ("workers", "-4", "-4 is too small, at least 1"),
    ("workers", "4097", "4097 is too large, at most 4096"),
    ("workers", "four", "is not a whole number"),
    ("workers", "2.5", "is not a whole number"),
    ("workers", "1e3", "is not a whole number"),
    ("workers", "٤", "is not a whole number"),
    ("workers", "9" * 30, "is not a whole number"),
    ("gpus", "17", "17 is too large, at most 16"),
    ("ssh-port", "0", "0 is too small, at least 1"),
    ("ssh-port", "65536", "65536 is too large, at most 65535"),
    ("retries", "-1", "-1 is too small, at least 0"),
    ("deadline", "1h", "is not a whole number"),
    # quantities
    ("memory", "32 GiB", "is not a valid quantity"),
    ("memory", "32gb", "is not a valid quantity"),
    ("memory", "-1Gi", "is negative"),
    ("memory", "1Mi", "1Mi is too small, at least 64Mi"),
    ("cpu", "four", "is not a valid quantity"),
    ("cpu", "1m", "1m is too small, at least 100m"),
    ("shared-memory", "0", "0 is too small, at least 64Mi"),
    # images and commands
    ("image", "", "a value is required"),
    ("image", "r.example/a b:1", "is not a valid image reference"),
    ("image", "https://r.example/a:1$", "is not a valid image reference"),
    ("git-image", ":latest", "is not a valid image reference"),
    ("command", "echo 'open", "cannot be split into words: close the quote"),
    ("launcher", "srun", "is not one of mpirun, horovodrun, command"),
    ("pull-policy", "Sometimes", "is not one of Always, IfNotPresent, Never"),
    # pairs
    ("environment", "LR", "'LR' is not KEY=VALUE"),
    ("environment", "=1", "'=1' is not KEY=VALUE"),
    ("environment", "1LR=2", "is not a valid variable name"),
    ("environment", "LR=1 LR=2", "LR is given twice; keep one"),
    ("environment", "MY-VAR=1", "is not a valid variable name"),
    ("environment", FEW, "65 parts are too many, at most 64"),
    ("pool", "gpu", "'gpu' is not KEY=VALUE"),
    ("labels", "team=a b", "'b' is not KEY=VALUE"),
    ("labels", "team=" + "a" * 64, "is not a valid label value"),
    ("labels", "-team=a", "is not a valid label key"),
    ("labels", "app.kubernetes.io/managed-by=me", "is already set by another field"),
    ("annotations", "a b=c", "'a' is not KEY=VALUE"),
    ("annotations", "/note=x", "is not a valid annotation key"),
    ("tolerations", "gpu=yes:Never", "has no effect of taints behind its colon"),
    ("tolerations", "gpu:", "has no effect of taints behind its colon"),
    ("tolerations", "=yes", "is not a valid taint key"),
    ("tolerations", "gpu gpu", "gpu is given twice; keep one"),
    ("rdma", "rdma/hca=0", "needs a whole number of at least 1"),
    ("rdma", "hca=1", "is not a valid extended resource"),
    ("gpu-resource", "gpu", "is not a valid extended resource"),
    ("gpu-model", "H100 80GB", "is not a valid label value"),
    ("cards", "low", "'low' is not KEY=VALUE"),
    ("topology", "rack 1", "is not a valid label key"),
    # volumes and paths
    ("data", "imagenet", "is not of the form CLAIM:/path"),
    ("data", "imagenet:data", "is not an absolute path"),
    ("data", "imagenet:/data:rx", "is not of the form CLAIM:/path"),
    ("data", "a:/data b:/data", "/data is used by two mounts"),
    ("data", "imagenet:/", "is not an absolute path"),
    ("data", "imagenet:/data/../etc", "is not an absolute path"),
    ("data", "imagenet:/dev/shm", "/dev/shm is mounted twice"),
    ("config-maps", "Train_Config", "is not a valid name"),
    ("config-maps", "train train", "train is given twice; keep one"),
    ("config-maps", "train:etc", "is not an absolute path"),
    ("secret-names", "wandb:/a:/b", "is not of the form NAME"),
    ("driver-mounts", "opt:/opt", "cannot precede the colon"),
    ("working-directory", "app", "is not an absolute path"),
    ("tensorboard", "logs", "is not an absolute path"),
    # git
    ("git", "code", "is not a valid repository URL"),
    ("git", "https://ada:pw123456@git.example/a.git", "contains a password or a token"),
    ("git", "ext::sh -c id", "is not a valid repository URL"),
    ("git-revision", "a..b", "is not a valid branch"),
    ("git-revision", "--upload-pack=x", "is not a valid branch"),
    # marks and control characters
    ("command", "a\x07b", "control characters are not allowed"),
    ("host-network", "maybe", "is not true or false"),
)


def test_there_are_enough_of_them_and_no_kind_of_field_is_left_out() -> None:
    type_of = {one.name: one.type for one in load_library().templates["mpijob"].parameters}
    assert len(BAD) >= 55 and {type_of[field] for field, _, _ in BAD} == set(type_of.values())


TEMPLATES = load_library().templates


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_every_field_of_every_template_refuses_what_is_no_value_of_its_kind(name: str) -> None:
    template = TEMPLATES[name]
    kind_of = {one.name: one.type for one in TEMPLATES["mpijob"].parameters}
    of_kind = {kind_of[field]: text for field, text, _ in reversed(BAD) if text}  # the first of each
    of_kind |= {"integer": "four", "schedule": "0 24 * * *", "time-zone": "Local"}
    at_first = {one.name: GOOD.get(one.name, one.default or "") for one in template.parameters}
    for one in template.parameters:
        wrong = ["a\x07b"] + [of_kind[one.type]] * (one.type in of_kind and one.type != "text")
        for text in wrong:
            found = faults(template, {**at_first, one.name: text})
            assert one.name in found, (one.name, one.type, text)
            assert found[one.name] and "\n" not in found[one.name], (one.name, found[one.name])


@pytest.mark.parametrize(("field", "text", "told"), BAD)
def test_a_command_refuses_it_in_one_sentence_that_names_the_field(
    field: str, text: str, told: str, capsys: Capture
) -> None:
    given = [f"--set={name}={value}" for name, value in {**GOOD, field: text}.items()]
    code, out, err = run(capsys, "job", "submit", "mpijob", *given, "--dry-run")
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith(f"cockpit: {field}: ") and told in line


async def test_a_form_refuses_each_at_its_field_in_the_words_of_the_command() -> None:
    app = OfferingApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await pilot.press("N")
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, SubmitScreen)
        form = screen.query_one("#fields", Form)
        at_first = dict(form.values)
        for field, text, told in BAD:
            faults = screen._faults({**at_first, **GOOD, field: text})
            assert set(faults) == {field} and told in faults[field], (field, text, faults)


async def test_all_wrong_fields_are_told_together_by_form_and_command(capsys: Capture) -> None:
    wrong = {"name": "LLM", "workers": "0", "memory": "32gb", "git": "code"}
    given = [f"--set={name}={value}" for name, value in wrong.items()]
    code, _out, err = run(capsys, "job", "submit", "mpijob", *given, "--dry-run")
    told = {line.removeprefix("cockpit: ").partition(": ")[0] for line in err.splitlines()}
    assert code == 2 and told == {*wrong, "image"}
    app = OfferingApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await pilot.press("N")
        await settle(pilot)
        form = app.screen.query_one("#fields", Form)
        for name, text in wrong.items():
            form.set_value(name, text)
        await settle(pilot)
        await pilot.press("ctrl+s")
        await settle(pilot)
        shown = {row.spec.id: row.note.fault for row in form.query(FieldRow) if row.note.fault}
        assert set(shown) == {*wrong, "image"}
        lines = {line.removeprefix("cockpit: ") for line in err.splitlines()}
        assert {f"{name}: {fault}" for name, fault in shown.items()} == lines
