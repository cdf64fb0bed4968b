"""A bed: a real control plane on this machine, started for a test run or by hand, and gone afterwards.

    with Bed({"apiserver"}, namespace=False) as bed:
        bed.api().get("/api/v1/namespaces")

`namespace=False` runs parts beside the caller on free ports; that is possible for etcd, kube-apiserver,
kube-controller-manager, kube-scheduler, kwok, the exposition and the machines controller. The full bed
needs namespaces of its own (`tests.bed.sandbox`); its API server, exposition and Prometheus still answer
outside, on the same port number, through a forwarder. What needs more than those enters (`run_inside`).
"""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tests.bed import builder, sandbox
from tests.bed.api import Api
from tests.bed.binaries import BINARIES, binary_of, chosen_generation
from tests.bed.cache import BedError
from tests.bed.credentials import write_credentials
from tests.bed.distro import ensure_program
from tests.bed.layout import FORWARDED, FULL, NAMESPACE_ONLY, PORTS, PROGRAM_OF, Layout, closure, free_ports
from tests.bed.parts import ROOT

_UP_SECONDS = 420.0
ENVIRONMENT_NAME = "GPU_COCKPIT_BED"


class Bed:
    """A handle on one bed, made by `Bed(...).start()` (the owner) or `Bed.attach(run_dir)`."""

    def __init__(
        self,
        parts: Iterable[str] = FULL,
        *,
        namespace: bool | None = None,
        apiserver_flags: Sequence[str] = (),
        keep_logs: bool = False,
        generation: str = "",
        report: Callable[[str], None] = builder.quiet,
    ) -> None:
        self.parts = closure(parts)
        self.generation = generation or chosen_generation()
        confined = [part for part in self.parts if part in NAMESPACE_ONLY]
        if namespace is False and confined:
            raise BedError(f"{', '.join(confined)} run only in a namespace: leave namespace=False out")
        self.namespaced = bool(confined) if namespace is None else namespace
        self.keep_logs = keep_logs
        self.timings: dict[str, float] = {}
        self._flags = tuple(apiserver_flags)
        self._report = report
        self._layout: Layout | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._listeners: list[socket.socket] = []
        self._pidfd = -1
        self._owned = True

    # --- coming up -------------------------------------------------------------------------------------

    def start(self) -> "Bed":
        """Builds what is missing, starts everything, returns when all is ready. Raises BedError."""
        form = sandbox.allowed_form() if self.namespaced else ""
        programs = {
            part: str(builder.ensure(binary_of(PROGRAM_OF[part], self.generation), self._report).path)
            for part in self.parts
            if part in PROGRAM_OF
        }
        programs["kubectl"] = str(builder.ensure("kubectl", self._report).path)
        if "prometheus" in self.parts:
            programs["prometheus"] = str(ensure_program("prometheus", self._report))
        started = time.monotonic()
        for attempt in (1, 2, 3):
            self._lay_out(programs)
            try:
                self._launch(form)
                break
            except BedError as error:
                self.stop(failed=True)
                # Another process may take a free port between choosing and binding; then choose again.
                if attempt == 3 or "address already in use" not in str(error):
                    raise
        self.timings["total"] = time.monotonic() - started
        return self

    def _lay_out(self, programs: dict[str, str]) -> None:
        run_dir = Path(tempfile.mkdtemp(prefix="gpu-cockpit-bed-"))
        descriptors: dict[str, int] | None = None
        ports = free_ports(PORTS)
        if self.namespaced:
            descriptors = {}
            for name in FORWARDED:
                if name in self.parts:
                    listener = socket.create_server(("127.0.0.1", ports[name]), backlog=128)
                    self._listeners.append(listener)
                    descriptors[name] = listener.fileno()
        binaries = {
            program: binary_of(program, self.generation)
            for part, program in PROGRAM_OF.items()
            if part in self.parts
        }
        layout = Layout(
            run_dir,
            self.namespaced,
            self.parts,
            ports,
            programs,
            manifests={
                program: str(builder.manifests_dir(name))
                for program, name in binaries.items()
                if BINARIES[name].manifests
            },
            apiserver_flags=self._flags,
            forwarded_fds=descriptors,
            generation=self.generation,
        )
        self._layout = layout
        for folder in (layout.pki, layout.logs, run_dir / "hook", run_dir / "bin"):
            folder.mkdir(mode=0o700)
        write_credentials(layout)
        (run_dir / "bin" / "kubectl").symlink_to(programs["kubectl"])
        layout.save()

    def _launch(self, form: str) -> None:
        layout = self.layout
        self._pidfd = os.pidfd_open(os.getpid())
        prefix = sandbox.unshare_prefix(form) if self.namespaced else []
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "tests.bed.runner", str(layout.run_dir), str(self._pidfd)],
            cwd=ROOT,
            env=runner_environment(layout.run_dir),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(layout.logs / "runner.log").open("wb"),
            pass_fds=(self._pidfd, *(layout.forwarded_fds or {}).values()),
            start_new_session=True,
        )
        state: dict[str, Any] = {"form": form, "pid": self._process.pid}
        deadline = time.monotonic() + _UP_SECONDS
        for said in _lines(self._process, deadline, layout.logs):
            match said["event"]:
                case "init":
                    state["pid"] = said["pid"]
                case "ready":
                    self.timings[said["part"]] = said["seconds"]
                    self._report(f"{said['part']} ready after {said['seconds']:.1f} s")
                case "set up":
                    self.timings[f"set up after {'+'.join(said['after'])}"] = said["seconds"]
                case "failed" | "note":
                    if said["event"] == "failed":
                        raise BedError(said["sentence"])
                    self._report(said["sentence"])
                case "up":
                    break
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()
        (layout.run_dir / "state.json").write_text(json.dumps(state))

    # --- going down ------------------------------------------------------------------------------------

    def stop(self, *, failed: bool = False) -> None:
        """Ends every process and removes the folder; logs stay when it failed or `keep_logs` is set."""
        if not self._owned:
            return
        process, self._process = self._process, None
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
        layout, self._layout = self._layout, None
        if layout is not None and layout.run_dir.exists():
            keep = failed or self.keep_logs
            for entry in layout.run_dir.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    if not (keep and entry.name == "logs"):
                        shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink(missing_ok=True)
            if not keep:
                shutil.rmtree(layout.run_dir, ignore_errors=True)
            elif failed:
                self._report(f"logs kept in {layout.logs}")

    def __enter__(self) -> "Bed":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @classmethod
    def attach(cls, run_dir: Path) -> "Bed":
        """A handle on a bed that somebody else owns; `stop` leaves it running. Raises BedError."""
        layout = Layout.load(run_dir)
        bed = cls(layout.parts, namespace=layout.namespaced, generation=layout.generation)
        bed._layout = layout
        bed._owned = False
        return bed

    # --- use -------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        if self._layout is None:
            raise BedError("this bed is not running: call start() first")
        return self._layout

    @property
    def run_dir(self) -> Path:
        return self.layout.run_dir

    @property
    def kubeconfig(self) -> Path:
        """Contexts bed (admin), certificate (admin by certificate), engineer, viewer, nobody, expired."""
        return self.layout.kubeconfig

    @property
    def server(self) -> str:
        return self.layout.server

    @property
    def ca_file(self) -> Path:
        return self.layout.ca_file

    @property
    def etcd_url(self) -> str:
        """Loopback; outside a namespaced bed nobody answers there."""
        return self.layout.url("etcd")

    @property
    def exposition_url(self) -> str:
        return self.layout.url("exposition")

    @property
    def prometheus_url(self) -> str:
        return self.layout.url("prometheus")

    def token(self, context: str = "bed") -> str:
        """The bearer token of one context (`tests.bed.people`)."""
        tokens: dict[str, str] = json.loads((self.run_dir / "tokens.json").read_text())
        return tokens[context]

    def api(self, context: str = "bed") -> Api:
        return Api(self.server, self.token(context), self.ca_file)

    def environment(self) -> dict[str, str]:
        """What a client needs beside its own variables: KUBECONFIG, the bed's kubectl first on PATH."""
        return {
            "KUBECONFIG": str(self.kubeconfig),
            ENVIRONMENT_NAME: str(self.run_dir),
            "PATH": f"{self.run_dir / 'bin'}:{os.environ.get('PATH', os.defpath)}",
        }

    def enter_prefix(self) -> list[str]:
        """What to put before a command line so that it runs inside; nothing when there is no namespace."""
        if not self.namespaced or os.environ.get("GPU_COCKPIT_INSIDE") == str(self.run_dir):
            return []
        state = json.loads((self.run_dir / "state.json").read_text())
        return sandbox.enter_prefix(int(state["pid"]), str(state["form"]))

    def inside(self, argv: Sequence[str], folder: Path | None = None) -> list[str]:
        """The whole command line that runs `argv` inside, in `folder` (the current one by default)."""
        variables = {**self.environment(), "GPU_COCKPIT_INSIDE": str(self.run_dir)}
        assigned = [f"{name}={value}" for name, value in variables.items()]
        return [
            *self.enter_prefix(),
            *sandbox.in_folder(folder or Path.cwd(), ["env", *assigned, *argv]),
        ]

    def run_inside(
        self, argv: Sequence[str], *, timeout_seconds: float = 60.0, folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command inside to its end, output captured, whatever its code."""
        return subprocess.run(
            self.inside(argv, folder), capture_output=True, text=True, timeout=timeout_seconds, check=False
        )

    def kubectl(self, *arguments: str, timeout_seconds: float = 60.0) -> str:
        """The output of the bed's kubectl. Raises BedError with its complaint."""
        done = subprocess.run(
            [self.layout.programs["kubectl"], "--kubeconfig", str(self.kubeconfig), *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
        if done.returncode != 0:
            raise BedError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def signal(self, part: str, number: signal.Signals) -> None:
        """Sends a signal to one part: STOP on kwok is a node outage, KILL on kueue its crash."""
        self._command(do="signal", part=part, signal=number.name.removeprefix("SIG"))

    def restart(self, part: str) -> None:
        """Kills one part and starts it again; returns when it is ready."""
        self._command(do="restart", part=part)

    def watch(self) -> None:
        """The owner waits here; reports parts that die. Raises BedError when the whole bed has ended."""
        if self._process is None:
            raise BedError("this bed is not running: call start() first")
        for said in _lines(self._process, float("inf"), self.layout.logs):
            if said["event"] == "died":
                self._report(said["sentence"])

    def _command(self, **asked: str) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(120)
            line.connect(str(self.layout.control_socket))
            line.sendall(json.dumps(asked).encode() + b"\n")
            reply: dict[str, Any] = json.loads(line.makefile("rb").readline())
        if "error" in reply:
            raise BedError(f"the bed refused {asked}: {reply['error']}")
        return reply


def runner_environment(run_dir: Path) -> dict[str, str]:
    """Little of the caller's environment: no proxy (all is local), and above all no KUBECONFIG and no home,
    which mpi-operator puts before its own flag: it must never meet a cluster that is not the bed's."""
    wanted = ("PATH", "LANG", "LC_ALL", "TZ", "GOGC", "GOMEMLIMIT")
    kept = {name: os.environ[name] for name in wanted if name in os.environ}
    return {
        **kept,
        "HOME": str(run_dir),
        "TMPDIR": str(run_dir),
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
    }


def _lines(process: subprocess.Popen[bytes], deadline: float, logs: Path) -> Iterable[dict[str, Any]]:
    """What the runner says, until it ends (BedError) or the deadline passes (BedError)."""
    pipe: IO[bytes] | None = process.stdout
    assert pipe is not None
    rest = b""
    while True:
        left = deadline - time.monotonic()
        timeout = None if left == float("inf") else max(left, 0.0)
        if not select.select([pipe], [], [], timeout)[0]:
            raise BedError(f"the bed is not up after {_UP_SECONDS:.0f} s: see {logs}")
        data = os.read(pipe.fileno(), 65536)
        if not data:
            complaint = (logs / "runner.log").read_text(errors="replace").strip().splitlines()
            raise BedError(f"the bed's runner ended early ({' / '.join(complaint[-3:])}): see {logs}")
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            yield json.loads(line)
