"""The kubectl lines beside a plan, pasted into a shell: they send what the plan sends."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cockpit.actions.kubectl import kubectl_lines, place_of
from cockpit.model.plan import Call, Plan
from cockpit.pools.capacity import CapacityWish, DemandWay, plan_capacity, priority_class
from tests.unit.pools.builders import able
from tests.unit.pools.test_capacity import wish
from tests.unit.pools.test_karpenter_bounds import TREE, read

RUDE = 'it\'s 100%s of "$HOME" \\n `x` — é'
STUB = """#!/bin/sh
printf '%s\\n' "$@" > "$OUT.argv"
cat > "$OUT.body"
"""


def _claims(asked: CapacityWish) -> tuple[Call, ...]:
    calls: tuple[Call, ...] = able(read()).machine_calls(TREE, asked, ["ask-gpu-1-1"])
    return calls


def _asked(way: DemandWay) -> tuple[Call, ...]:
    asked = wish(by=RUDE)
    return _claims(asked) if way is DemandWay.MACHINE else plan_capacity(way, asked).calls


@pytest.fixture
def pasted(tmp_path: Path) -> Any:
    """Paste a line into sh; what kubectl was called with, and what it read."""
    stub = tmp_path / "kubectl"
    stub.write_text(STUB)
    stub.chmod(0o755)

    def paste(line: str) -> tuple[list[str], Any]:
        assert "\n" not in line
        out = tmp_path / "out"
        env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "OUT": str(out)}
        subprocess.run(["sh", "-c", line], env=env, check=True, timeout=30)
        body = json.loads(out.with_suffix(".body").read_text(encoding="utf-8"))
        return out.with_suffix(".argv").read_text().splitlines(), body

    return paste


@pytest.mark.parametrize("way", list(DemandWay), ids=str)
def test_nodes_are_asked_for_by_the_line_as_by_the_plan(way: DemandWay, pasted: Any) -> None:
    calls = (priority_class(), *_asked(way))
    lines = kubectl_lines(Plan(verb="ask", title="ask", calls=calls), "prod")
    assert len(lines) == len(calls)
    for call, line in zip(calls, lines, strict=True):
        argv, body = pasted(line)
        space = place_of(call.path).namespace
        where = ["-n", space] if space else []
        assert argv == ["--context", "prod", *where, "create", "-f", "-"]
        assert body == call.body
        assert body.get("apiVersion") and body.get("kind"), "kubectl needs them to know what it is"
    assert any(
        RUDE in line.replace("'\"'\"'", "'").replace('\\"', '"').replace("\\\\", "\\") for line in lines
    )


def test_what_is_made_below_an_object_is_sent_to_its_path(pasted: Any) -> None:
    path = "/api/v1/namespaces/team-a/pods/llm-0/eviction"
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "llm-0"}}
    (line,) = kubectl_lines(
        Plan(verb="evict", title="evict", calls=(Call(method="POST", path=path, body=body),))
    )
    assert pasted(line) == (["create", "--raw", path, "-f", "-"], body)
