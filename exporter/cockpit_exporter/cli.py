"""The command `cockpit-exporter`."""

import argparse
import gc
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from cockpit_exporter import __version__
from cockpit_exporter.collector import CollectorPace
from cockpit_exporter.passwords import BadFile, PasswordGate, hashed, read_users

if TYPE_CHECKING:
    from cockpit_exporter.agent import Agent
    from cockpit_exporter.web import Tls

SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
BAD_FLAGS = 2
CHECK_PAUSE_SECONDS = 1.0


class Guards(NamedTuple):
    """Who may come in, and how."""

    gate: "PasswordGate | None" = None
    tls: "Tls | None" = None


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence and nothing else."""

    def error(self, message: str) -> NoReturn:
        fail(message)


def fail(message: str) -> NoReturn:
    """One sentence to the error stream; exit status 2."""
    sys.stderr.write(f"cockpit-exporter: {message}\n")
    raise SystemExit(BAD_FLAGS)


def parser() -> argparse.ArgumentParser:
    """All flags; README.md in exporter/ explains them."""
    made = _Parser(
        prog="cockpit-exporter",
        description="GPU numbers of one node as Prometheus metrics.",
        allow_abbrev=False,
    )
    add = made.add_argument
    add("--listen", default=":9400", metavar="HOST:PORT", help="address to serve on (default :9400)")
    add(
        "--node",
        default=os.environ.get("NODE_NAME", ""),
        help="the node's name (default NODE_NAME, else the host's)",
    )
    add(
        "--interval",
        default="5",
        metavar="SECONDS",
        help="time between two reading rounds (default 5, least 1)",
    )
    add("--deadline", default="2", metavar="SECONDS", help="time a card has to answer (default 2)")
    add("--dcgm-names", default="", metavar="A|C", help="use dcgm-exporter's names of this generation")
    add(
        "--pod-resources", default=SOCKET, metavar="PATH|off", help=f"the kubelet's socket (default {SOCKET})"
    )
    add(
        "--resource",
        action="append",
        default=[],
        metavar="NAME",
        help="a resource beside nvidia.com/* that means cards",
    )
    add(
        "--resource-slices",
        action="store_true",
        help="read UUIDs of DRA devices from this node's ResourceSlices",
    )
    add("--pod-logs", default="", metavar="DIR", help="folder of pod logs, to name the pods of processes")
    add("--proc", default="/proc", metavar="DIR", help="the host's /proc")
    add("--tls-cert", default="", metavar="FILE", help="certificate; serve HTTPS")
    add("--tls-key", default="", metavar="FILE", help="key of the certificate")
    add(
        "--client-ca",
        default="",
        metavar="FILE",
        help="serve metrics only to clients with a certificate of this CA",
    )
    add("--basic-auth-file", default="", metavar="FILE", help="file of user:password lines that may scrape")
    add("--check", action="store_true", help="show what would be collected, and exit")
    add(
        "--hash-password",
        action="store_true",
        help="read a password from standard input, print its hash, and exit",
    )
    add("--version", action="store_true", help="print the version, and exit")
    return made


def _seconds(name: str, told: str, least: float, most: float) -> float:
    try:
        found = float(told)
    except ValueError:
        fail(f"{name} is {told!r}: give a number of seconds")
    if not least <= found <= most:
        fail(f"{name} is {told}: give {least:g} to {most:g} seconds")
    return found


def address(told: str) -> tuple[str, int]:
    """Host and port of `:9400`, `10.0.0.7:9400`, `[::1]:9400`."""
    host, colon, port = told.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        fail(f"--listen is {told!r}: give HOST:PORT or :PORT, such as :9400")
    bare = host.removeprefix("[").removesuffix("]")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        fail(f"--listen is {told!r}: an IPv6 address needs brackets, such as [::1]:9400")
    return bare, int(port)


def _slices_url(is_wanted: bool) -> str:
    if not is_wanted:
        return ""
    host, port = (
        os.environ.get("KUBERNETES_SERVICE_HOST", ""),
        os.environ.get("KUBERNETES_SERVICE_PORT", "443"),
    )
    if not host:
        fail("--resource-slices needs KUBERNETES_SERVICE_HOST, which a pod has: leave the flag out elsewhere")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 stopped, 1 nothing to read in --check, 2 bad flags, 3 driver changed, 4 no driver."""
    told = parser().parse_args(arguments)
    if told.version:
        sys.stdout.write(f"cockpit-exporter {__version__}\n")
        return 0
    if told.hash_password:
        sys.stdout.write(hashed(sys.stdin.readline().rstrip("\n"), secrets.token_bytes(16)) + "\n")
        return 0
    if told.dcgm_names not in ("", "A", "C"):
        fail(f"--dcgm-names is {told.dcgm_names!r} and must be A (names up to 4.8.4) or C (since 4.9.0)")
    pace = CollectorPace(
        interval_seconds=_seconds("--interval", told.interval, 1, 3600),
        deadline_seconds=_seconds("--deadline", told.deadline, 0.1, 60),
    )
    where = address(told.listen)
    try:
        return _run(told, pace, where, _guards(told))
    except ModuleNotFoundError as problem:
        fail(f"the Python package {problem.name} is missing: install cockpit-exporter")


def _guards(told: argparse.Namespace) -> Guards:
    from cockpit_exporter.web import Tls

    gate: PasswordGate | None = None
    tls: Tls | None = None
    if bool(told.tls_cert) != bool(told.tls_key):
        fail("--tls-cert and --tls-key go together: give both or neither")
    if told.client_ca and not told.tls_cert:
        fail("--client-ca needs --tls-cert and --tls-key")
    if told.tls_cert:
        tls = Tls(Path(told.tls_cert), Path(told.tls_key), Path(told.client_ca) if told.client_ca else None)
        try:
            tls.context()
        except OSError as problem:
            fail(f"--tls-cert {told.tls_cert} with --tls-key {told.tls_key} cannot be used: {problem}")
    if told.basic_auth_file:
        try:
            gate = PasswordGate(read_users(Path(told.basic_auth_file)))
        except BadFile as problem:
            fail(f"--basic-auth-file {problem}")
    return Guards(gate, tls)


def _run(told: argparse.Namespace, pace: CollectorPace, where: tuple[str, int], guards: Guards) -> int:
    from cockpit_exporter.agent import Agent, AgentSettings
    from cockpit_exporter.driver import Nvml

    settings = AgentSettings(
        node=told.node or socket.gethostname(),
        pace=pace,
        dcgm_names=told.dcgm_names,
        pod_resources="" if told.pod_resources == "off" else told.pod_resources,
        resources=tuple(told.resource),
        slices_url=_slices_url(told.resource_slices),
        pod_logs=told.pod_logs,
        proc=Path(told.proc),
        version=__version__,
    )
    agent = Agent(settings, Nvml(), time.monotonic)
    if told.check:
        return _check(agent)
    return _serve(agent, where, guards)


def _check(agent: "Agent") -> int:
    from cockpit_exporter.check import report

    agent.collector.step()
    if not agent.collector.snapshot.reason:
        agent.xids.step()
        time.sleep(CHECK_PAUSE_SECONDS)  # ratios are of the time between two rounds
        agent.collector.step()
    if agent.kubelet is not None:
        agent.kubelet.step()
    if agent.slices is not None:
        agent.slices.step()
    sys.stdout.write(report(agent.seen(), agent.xids.state))
    agent.collector.close()
    return 1 if agent.collector.snapshot.reason else 0


def _serve(agent: "Agent", where: tuple[str, int], guards: "Guards") -> int:
    """Until a signal, or until the collector says that only a new process can go on."""
    from cockpit_exporter.web import Server

    try:
        server = Server(*where, agent.page, agent.health, agent.encoding, gate=guards.gate, tls=guards.tls)
    except OSError as problem:
        fail(f"--listen {where[0]}:{where[1]} cannot be used: {problem}")
    asked = threading.Event()

    def on_signal(number: int, frame: object) -> None:
        asked.set()
        agent.ended.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    gc.collect()
    gc.freeze()  # what is imported stays: a collection during a scrape need not look at it again
    agent.start()
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    sys.stderr.write(f"cockpit-exporter: serving on {server.server_name}:{server.server_port}\n")
    agent.ended.wait()
    server.stop()
    agent.stop()
    if agent.exit_status and agent.collector.is_unloaded:
        sys.stderr.write("cockpit-exporter: the driver was unloaded: starting again\n")
        sys.stderr.flush()
        os.execv(sys.executable, sys.orig_argv)  # its library is mapped: only a new program reloads it
    if agent.exit_status:
        sys.stderr.write(f"cockpit-exporter: {agent.collector.snapshot.detail}: restart the process\n")
        return agent.exit_status
    return 0 if asked.is_set() else 1
