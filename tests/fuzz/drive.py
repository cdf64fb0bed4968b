"""Fuzzes an embedded cluster from a seed: what it must never answer, and what must hold at the end."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from cockpit.sim.server import limits
from tests.fuzz.grammar import Grammar
from tests.fuzz.sent import Resource, Sent
from tests.fuzz.trees import Tree
from tests.fuzz.wire import Answer, Client, is_json

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = "two-nodes"
_MISCHIEF = 0.04
_MOST_FINDINGS = 200
_END_SECONDS = 60


class Outcome(msgspec.Struct):
    """What a run has come to. `told` is what the child says at its end."""

    findings: list[str]
    statuses: dict[int, int]
    told: dict[str, Any]
    seconds_to_quit: float
    slowest: list[tuple[float, str]] = []


@contextmanager
def child(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A cluster with little memory."""
    command = [sys.executable, "-m", "tests.fuzz.child", str(folder), SCENARIO]
    # glibc would take 64 MiB of address space for each thread, which is what is limited.
    surroundings = {**os.environ, "MALLOC_ARENA_MAX": "2"}
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
            env=surroundings,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def fuzz(folder: Path, seed: int, count: int) -> Outcome:
    """`count` requests drawn from `seed`; whatever must not be is a finding."""
    folder.mkdir(parents=True, exist_ok=True)
    with child(folder) as process:
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("the child has no pipes")
        kubeconfig = process.stdout.readline().strip().removeprefix("KUBECONFIG=")
        client = Client(Path(kubeconfig))
        outcome = Outcome([], {}, {}, 0.0)
        statuses: Counter[int] = Counter()
        try:
            _run(client, seed, count, outcome, statuses)
            if process.poll() is None:
                outcome.findings += _last_look(client)
        finally:
            client.close()
        outcome.statuses = dict(sorted(statuses.items()))
        if process.poll() is not None:
            outcome.findings.append(f"the server died with {process.returncode}")
        began = time.monotonic()
        process.stdin.close()
        try:
            told = process.stdout.read()
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            outcome.findings.append(f"it did not end within {_END_SECONDS} s")
            return outcome
        outcome.seconds_to_quit = time.monotonic() - began
        outcome.told = json.loads(told.splitlines()[-1]) if told.strip() else {}
        outcome.findings += _of_log(folder) + _of_peaks(outcome.told)
        return outcome


def _run(client: Client, seed: int, count: int, outcome: Outcome, statuses: "Counter[int]") -> None:
    grammar = Grammar(seed, known_of(client))
    dice = Random(f"mischief of {seed}")
    for number in range(count):
        if dice.random() < _MISCHIEF:
            client.mischief(dice)
        sent = grammar.next()
        began = time.monotonic()
        try:
            answer = client.ask(sent)
        except Exception as error:
            outcome.findings.append(f"#{number} {sent}: no answer: {error!r}")
            if isinstance(error, ConnectionRefusedError) or len(outcome.findings) > _MOST_FINDINGS:
                return
            continue
        outcome.slowest = sorted([*outcome.slowest, (time.monotonic() - began, str(sent))], reverse=True)[:5]
        statuses[answer.status] += 1
        if why := wrong_with(sent, answer):
            outcome.findings.append(f"#{number} {sent}: {why}")


def known_of(client: Client) -> dict[Resource, list[Tree]]:
    """What is served, and what is there of it."""
    prefixes = ["/api/v1"]
    for group in _tree(client, "/apis")["groups"]:
        prefixes += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
    known: dict[Resource, list[Tree]] = {}
    for prefix in prefixes:
        for one in _tree(client, prefix)["resources"]:
            if "/" in one["name"] or "list" not in one["verbs"]:
                continue
            resource = Resource(prefix, one["name"], one["kind"], one["namespaced"])
            version = prefix.removeprefix("/apis/").removeprefix("/api/")
            items = _tree(client, f"{prefix}/{one['name']}?limit=20").get("items") or []
            known[resource] = [{**item, "apiVersion": version, "kind": one["kind"]} for item in items]
    return known


def _tree(client: Client, path: str) -> Tree:
    tree: Tree = json.loads(client.ask(Sent("GET", path, [("Accept", "application/json")])).body)
    return tree


def wrong_with(sent: Sent, answer: Answer) -> str:
    """Why an answer must not be; "" where it may."""
    body = answer.body
    if b"Traceback" in body or b"Internal error occurred" in body or b"RecursionError" in body:
        return f"{answer.status} {body[:400]!r}"
    if sent.method == "HEAD" or answer.status in (204, 304):
        return ""
    if not is_json(answer):
        return f"{answer.status} {body[:400]!r}" if answer.status >= 500 else ""
    try:
        tree = json.loads(body)
    except ValueError as error:
        return f"{answer.status} is no JSON ({error}): {body[:200]!r}"
    if not isinstance(tree, dict):
        return f"{answer.status} is no object: {body[:200]!r}"
    if answer.status < 400:
        return ""
    is_status = tree.get("kind") == "Status" and tree.get("code") == answer.status and "message" in tree
    return "" if is_status else f"{answer.status} is no Status: {body[:200]!r}"


def _last_look(client: Client) -> list[str]:
    """It still answers a list rightly, takes a write, and its actors act."""
    nodes = _tree(client, "/api/v1/nodes")
    found = (
        [] if nodes.get("kind") == "NodeList" and nodes.get("items") else [f"the last list: {nodes!r:.300}"]
    )
    wanted = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "last-look"}}
    made = client.ask(
        Sent(
            "POST", "/api/v1/namespaces", [("Content-Type", "application/json")], json.dumps(wanted).encode()
        )
    )
    if made.status != 201:
        found.append(f"the last write: {made.status} {made.body[:300]!r}")
    for _ in range(200):
        account = client.ask(Sent("GET", "/api/v1/namespaces/last-look/serviceaccounts/default", []))
        if account.status == 200:
            return found
        time.sleep(0.05)
    return [*found, "nobody made the account of the last namespace"]


def _of_log(folder: Path) -> list[str]:
    """Faults that no answer told of."""
    found = []
    for name in ("log", "errors"):
        path = folder / name
        text = path.read_text(errors="replace") if path.exists() else ""
        pieces = text.split("Traceback (most recent call last)")
        for before, piece in pairwise(pieces):
            head = before.strip().splitlines()[-1:] or [""]
            if "aiohttp.http_exceptions" in piece:
                continue  # what is no HTTP is told on the log, and answered with 400
            inner = [line for line in piece.splitlines() if line.startswith(("  File", "    "))]
            error = next((line for line in piece.splitlines()[1:] if line[:1].strip()), "")
            found.append(f"{name}: {head[0][:200]}: {error[:300]} {' | '.join(inner[-4:])}")
    return list(dict.fromkeys(found))


BOUNDS = {
    "bytes": limits.MOST_UNFOLDED_BYTES,
    "depth": limits.MOST_DEPTH,
    "operations": limits.MOST_OPERATIONS,
    "values": limits.MOST_VALUES,
    "moved_items": limits.MOST_MOVED_ITEMS,
    "pattern_steps": limits.MOST_PATTERN_STEPS,
}
"""What one request may unfold to, by what the server counts."""


def _of_peaks(told: dict[str, Any]) -> list[str]:
    if not told:
        return ["the child told nothing at its end"]
    found = [f"it dialled {one}" for one in told["dialled"]]
    return found + [
        f"a request came to {told['peak'][name]} {name}"
        for name, most in BOUNDS.items()
        if told["peak"][name] > most
    ]
