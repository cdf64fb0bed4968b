"""`cockpit doctor` against both servers, as people of different rights."""

import json
from typing import Any

import pytest


def found(text: str) -> dict[str, dict[str, Any]]:
    """The items by their check, from JSON behind the notes of a command."""
    return {item["check"]: item for item in json.loads(text[text.index("{") :])["items"]}


async def test_an_administrator_reads_everything(said: Any) -> None:
    code, text = await said("doctor", "-o", "json")
    checks = found(text)
    assert "Kubernetes v1." in checks["cluster"]["found"] and "answers in" in checks["cluster"]["found"]
    assert checks["rights"] == {
        "check": "rights", "is_amiss": False, "found": "every kind that is read may be read", "remedy": "",
    }  # fmt: skip
    assert not checks["user"]["is_amiss"] and "read-only without --write" in checks["user"]["found"]
    assert code == (3 if any(item["is_amiss"] for item in checks.values()) else 0)


@pytest.mark.parametrize("role", ["engineer", "nobody"])
async def test_what_may_not_be_read_is_named_with_the_role_that_helps(said: Any, role: str) -> None:
    code, text = await said("doctor", "-o", "json", role=role)
    checks = found(text)
    assert code == 3
    assert "nodes" in checks["rights"]["found"] and "deploy/roles" in checks["rights"]["remedy"]


async def test_a_login_that_is_refused_ends_in_one_line(said: Any) -> None:
    code, text = await said("doctor", role="expired")
    assert code == 2
    [line] = [line for line in text.splitlines() if line.startswith("!")]
    assert line.split()[1] == "cluster"
