"""The proxy on its own before an API server, by nothing but kubeconfigs; and as a command."""

import asyncio
import base64
import signal
import ssl
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest
import yaml

from cockpit.clock import ManualClock
from cockpit.errors import BadInput
from cockpit.sim.faults.reading import read_rules
from cockpit.sim.server.run import serving
from tests.adapters.faults.__main__ import main
from tests.adapters.faults.standalone import rules_in, standing_before


def _way(kubeconfig: Path, user: str) -> tuple[str, str, ssl.SSLContext]:
    """Server, token and trust of a user."""
    tree = yaml.safe_load(kubeconfig.read_text())
    cluster = tree["clusters"][0]["cluster"]
    token = next(one["user"]["token"] for one in tree["users"] if one["name"] == user)
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return cluster["server"], token, ssl.create_default_context(cadata=authority)


async def _ask(http: aiohttp.ClientSession, kubeconfig: Path, user: str, path: str) -> tuple[int, Any]:
    server, token, tls = _way(kubeconfig, user)
    async with http.get(server + path, headers={"Authorization": f"Bearer {token}"}, ssl=tls) as answer:
        return answer.status, await answer.json(content_type=None)


def _is_there(path: Path) -> bool:
    return path.is_file()


async def test_a_kubeconfig_leads_through_the_proxy_and_rules_know_its_users(tmp_path: Path) -> None:
    rules = read_rules([{"match": {"user": "viewer", "kind": "pods"}, "do": {"status": 503}}])
    async with (
        serving(tmp_path / "server", ManualClock(), Random(1)) as server,
        standing_before(server.kubeconfig, rules, tmp_path / "proxy") as (proxy, kubeconfig),
        aiohttp.ClientSession() as http,
    ):
        assert proxy.url in kubeconfig.read_text() and server.url not in kubeconfig.read_text()
        assert kubeconfig.stat().st_mode & 0o777 == 0o600
        assert (await _ask(http, kubeconfig, "admin", "/api/v1/pods"))[0] == 200
        status, body = await _ask(http, kubeconfig, "viewer", "/api/v1/pods")
        assert (status, body["reason"]) == (503, "ServiceUnavailable")
        assert (await _ask(http, kubeconfig, "viewer", "/api/v1/nodes"))[0] == 200
        assert (await _ask(http, kubeconfig, "nobody", "/api/v1/nodes"))[0] == 403
        assert [one.user for one in proxy.requests("/pods")] == ["admin", "viewer"]


async def test_users_without_a_token_do_not_pass(tmp_path: Path) -> None:
    async with serving(tmp_path / "server", ManualClock(), Random(1)) as server:
        tree = yaml.safe_load(server.kubeconfig.read_text())
        for one in tree["users"]:
            one["user"] = {"client-certificate-data": "x"}
        server.kubeconfig.write_text(yaml.safe_dump(tree))
        with pytest.raises(BadInput, match=r"No user of .* has a token; add one"):
            async with standing_before(server.kubeconfig, (), tmp_path / "proxy"):
                raise AssertionError("it stands")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("faults: 3", "has no list of faults; give one, or a scenario with `faults:`."),
        ("- {do: {dorp: 1}}", "rules.yaml: faults[0].do.dorp: no such field; known are status, "),
        ("a: [", "are not YAML: "),
    ],
)
def test_a_file_that_is_wrong_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str
) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    with pytest.raises(BadInput) as refused:
        rules_in(file)
    assert sentence in refused.value.sentence and str(file) in refused.value.sentence
    assert main(["--faults", str(file), "--kubeconfig", str(tmp_path / "nix")]) == 2
    assert capsys.readouterr().err == f"{refused.value.sentence}\n"


async def test_the_command_prints_its_kubeconfig_and_leaves_nothing(tmp_path: Path) -> None:
    rules = tmp_path / "scenario.yaml"
    rules.write_text("faults: [{do: {drop: true}}]")
    async with serving(tmp_path / "server", ManualClock(), Random(1)) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.adapters.faults", "--faults", str(rules), "--kubeconfig", str(server.kubeconfig)),
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[4],
        )
        try:
            assert process.stdout is not None
            line = (await process.stdout.readline()).decode().strip()
            path = Path(line.removeprefix("KUBECONFIG="))
            assert line.startswith("KUBECONFIG=") and _is_there(path)
            async with aiohttp.ClientSession() as http:
                with pytest.raises(aiohttp.ClientError):
                    await _ask(http, path, "admin", "/api/v1/pods")
        finally:
            process.send_signal(signal.SIGINT)
            await asyncio.wait_for(process.wait(), 10.0)
        assert process.returncode == 0
        assert not _is_there(path)
