"""A command on a server that nobody checks says so once, on standard error."""

import json

import pytest

from cockpit.model.trust import Trust
from tests.unit.cli.builders import Cluster, Line, run
from tests.unit.cli.test_commands import Capture, gang

COMMANDS = (
    ("get", "jobs"),
    ("get", "overview", "-o", "json"),
    ("top", "job"),
    ("job", "kill", "llm", "--dry-run"),
    ("job", "submit", "mpijob", "--set", "name=x", "--set", "image=a:1", "--write", "--yes"),
)


@pytest.mark.parametrize(
    ("trust", "said"),
    [
        (Trust.UNVERIFIED, "cockpit: TLS is not verified: "),
        (Trust.PLAIN, "cockpit: no TLS: "),
        (Trust.VERIFIED, ""),
    ],
)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_one_line_and_the_output_stays_clean(
    cluster: Cluster,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    trust: Trust,
    said: str,
    words: tuple[str, ...],
) -> None:
    monkeypatch.setattr(Line, "trust", trust)
    gang(cluster)
    code, out, err = run(capsys, *words)
    assert code == 0, err
    assert "TLS" not in out
    told = [line for line in err.splitlines() if "TLS" in line]
    assert len(told) == (1 if said else 0) and all(line.startswith(said) for line in told)
    if "json" in words:
        json.loads(out)


def test_it_is_said_also_where_the_answer_is_a_refusal(
    cluster: Cluster, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cockpit.model.batch import Phase
    from cockpit.model.record import Kind

    monkeypatch.setattr(Line, "trust", Trust.UNVERIFIED)
    cluster.phases[Kind.NODE] = Phase.DENIED
    code, _out, err = run(capsys, "get", "nodes")
    assert code == 1 and err.startswith("cockpit: TLS is not verified")
