"""What a person may not put into a job: a password in a git address, a mark that stands for a secret."""

import pytest

from cockpit.errors import BadInput
from cockpit.jobs.render import render
from cockpit.jobs.template import load_library

NEEDED = {"name": "x", "image": "registry.example/train:1"}
ADDRESSES = (
    ("git", "https://me:hunter2@git.example/x.git"),
    ("git", "https://ghp_0123456789abcdefghij@github.com/team/x"),
    ("command", "git clone https://me:hunter2@git.example/x && python x/train.py"),
    ("command", "pip install git+https://hunter2@github.com/team/x"),
    ("environment", "REPOSITORY=https://me:hunter2@git.example/x.git"),
)


@pytest.mark.parametrize(("field", "value"), ADDRESSES)
def test_a_password_in_a_git_address_is_refused_with_the_remedy(field: str, value: str) -> None:
    template = load_library(()).named("job")
    with pytest.raises(BadInput) as refused:
        render(template, {**NEEDED, field: value})
    sentence = refused.value.sentence
    assert sentence.startswith(f"{field}: ")
    assert "put it into a Secret" in sentence
    assert "hunter2" not in sentence and "ghp_" not in sentence


@pytest.mark.parametrize("value", ["ssh://git@github.com/team/x.git", "git@github.com:team/x.git"])
def test_a_user_without_a_password_is_none(value: str) -> None:
    assert render(load_library(()).named("job"), {**NEEDED, "git": value})


@pytest.mark.parametrize("mark", ["[hidden]", "[hidden-2]"])
def test_a_mark_is_not_sent_as_a_value(mark: str) -> None:
    with pytest.raises(BadInput, match=r"command: .* stands for a secret that is not shown"):
        render(load_library(()).named("job"), {**NEEDED, "command": f"train --token {mark}"})
