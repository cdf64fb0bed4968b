"""Words of AWS, AKS and GKE, of their command lines and of those who make machines there, as they say them
in other regions, of other machines and in other versions than those in `test_failure_scripts`.

`failure_words.txt` has class, who said it (- to whoever makes the machines, not to us), code and text. Each
keeps its class when its numbers and names are others."""

import re
from pathlib import Path

import pytest

from cockpit.pools.failure_classes import classed
from cockpit.pools.owner import FailureClass

SAID = Path(__file__).with_name("failure_words.txt").read_text().splitlines()
ROWS = [
    (FailureClass[kind], "" if who == "-" else who, code, said)
    for kind, who, code, said in (line.split(" | ") for line in SAID)
]
OTHER_NAMES = (
    (r"\b(?:us|eu|ap)-[a-z]+-\d[a-c]?\b", "me-central-1b"),
    (r"\b(?:p\d|a3)[\w.-]*(?:large|8g)\b", "g7e.96xlarge"),
    (r"\bStandard_N\w+", "Standard_ND404isr_GB300_v6"),
    (r"(?<![\w=.-])\d+(?:\.0)?(?![\w.-])", "403"),
)
"""Regions, machine types and numbers; also such that are the status of an answer elsewhere."""
KEPT = re.compile(r"\b(?:code|error|status|errno|StatusCode)\W{0,2}\d+", re.IGNORECASE)


@pytest.mark.parametrize(("kind", "who", "code", "said"), ROWS)
def test_what_is_said_elsewhere_has_its_class_and_a_remedy(
    kind: FailureClass, who: str, code: str, said: str
) -> None:
    told = classed(code, said, who=who)
    assert told.kind is kind
    assert told.sentence and told.remedy and "{" not in told.sentence + told.remedy


@pytest.mark.parametrize(("kind", "who", "code", "said"), ROWS)
def test_the_class_does_not_hang_on_numbers_and_names(
    kind: FailureClass, who: str, code: str, said: str
) -> None:
    kept = KEPT.findall(said)
    other = KEPT.sub("<kept>", said)
    for pattern, name in OTHER_NAMES:
        other = re.sub(pattern, name, other)
    for one in kept:
        other = other.replace("<kept>", one, 1)
    assert classed(code, other, who=who).kind is kind, other


def test_a_launch_that_failed_is_not_told_as_if_we_had_been_refused() -> None:
    said = "You are not authorized to perform this operation. Launching EC2 instance failed."
    assert classed("Failed", said).remedy == "give its cloud role the missing permission"
