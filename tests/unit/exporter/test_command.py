"""The command as it is run: pages over HTTP and HTTPS, who may see them, flags, signals and exit statuses."""

import base64
import gzip
import http.client
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cockpit_exporter.passwords import PasswordGate, hashed
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics

from tests.reliability.figures import Tell
from tests.unit.exporter.certificates import certificate
from tests.unit.exporter.standin import Box, Page

pytestmark = pytest.mark.waits

COMMAND = (sys.executable, "-c", "import sys; from cockpit_exporter.cli import main; sys.exit(main())")


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float


class Running:
    """A running exporter."""

    def __init__(self, box: Box, *flags: str) -> None:
        listen = ("--listen", "127.0.0.1:0", "--pod-resources", "off", "--interval", "1")
        self.process = subprocess.Popen(
            [*COMMAND, *listen, *flags], env=box.environment, stderr=subprocess.PIPE, text=True
        )
        self.wait_until_served()

    def wait_for(self, words: str) -> str:
        """The line that it writes with these words."""
        assert self.process.stderr is not None
        while words not in (line := self.process.stderr.readline()):
            assert line, f"it ended before: {words}"
        return line

    def wait_until_served(self) -> None:
        line = self.wait_for("serving on 127.0.0.1:")
        self.served = time.monotonic()
        self.port = int(line.rpartition(":")[2])

    def get(self, path: str, context: ssl.SSLContext | None = None, **headers: str) -> Answer:
        began = time.monotonic()
        connection = (
            http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)
            if context
            else http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        )
        connection.request(
            "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return Answer(answer.status, dict(answer.getheaders()), body, time.monotonic() - began)

    def page_with(self, name: str) -> Page:
        """The first page that has this family: the collector starts when the server does."""
        patience = time.monotonic() + 30
        while time.monotonic() < patience:
            page = Page(self.get("/metrics").body.decode())
            if name in page.names():
                return page
        raise AssertionError(f"{name} never came")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=30)
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.fixture
def running(box: Box) -> Iterator[Running]:
    made = Running(box)
    yield made
    made.close()


def run(command: list[str], box: Box) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, env=box.environment, capture_output=True, text=True, timeout=60, check=False
    )


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_pages_are_made_on_scrape_in_the_asked_format(running: Running) -> None:
    page = running.page_with("cockpit_gpu_power_watts")
    assert len(page.samples("cockpit_gpu_power_watts")) == 8
    zipped = running.get("/metrics", Accept_Encoding="gzip")
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert b"cockpit_gpu_power_watts" in gzip.decompress(zipped.body)
    modern = running.get("/metrics", Accept="application/openmetrics-text;version=1.0.0")
    assert modern.headers["Content-Type"].startswith("application/openmetrics-text")
    names = {family.name for family in openmetrics(modern.body.decode())}  # type: ignore[no-untyped-call]
    assert {"cockpit_gpu_energy_joules", "cockpit_gpu_power_watts"} <= names
    assert running.get("/livez").status == 200
    assert running.get("/healthz").status == 200
    assert running.get("/nowhere").status == 404
    assert running.end() == 0


@pytest.mark.row(64, "longest scrape while the driver hangs", most=1, unit="s")
@pytest.mark.row(64, "restarts while the driver hangs", most=0)
def test_scrapes_are_answered_while_the_driver_hangs(box: Box, running: Running, figure: Tell) -> None:
    running.page_with("cockpit_gpu_power_watts")
    box.write("hang nvmlDeviceGetCount_v2 *", "hang nvmlEventSetWait_v2 *", "hang nvmlShutdown *")
    answers = []
    patience = time.monotonic() + 30
    while time.monotonic() < patience:
        answers.append(running.get("/metrics"))
        if 'cockpit_nvml_up{reason="hung"} 0.0' in answers[-1].body.decode():
            break
    assert Page(answers[-1].body.decode()).value("cockpit_nvml_up", reason="hung") == 0.0
    assert {one.status for one in answers} == {200}
    figure("longest scrape while the driver hangs", max(one.seconds for one in answers))
    figure("restarts while the driver hangs", int(running.process.poll() is not None))
    assert running.end() == 0, "it ends although the driver does not answer"


@pytest.mark.row(64, "longest scrape across a lost GPU, an Xid and a reload", most=1, unit="s")
@pytest.mark.row(64, "restarts across a lost GPU, an Xid and a reload", most=0)
@pytest.mark.row(64, "GPUs down besides the lost one", most=0)
def test_a_lost_card_an_xid_and_a_reload_of_the_driver_restart_nothing(
    box: Box, running: Running, figure: Tell
) -> None:
    running.page_with("cockpit_gpu_power_watts")
    pid = running.process.pid
    seconds = [0.0]

    def scraped(until: Callable[[Page], bool]) -> Page:
        patience = time.monotonic() + 60
        while time.monotonic() < patience:
            answer = running.get("/metrics")
            seconds.append(answer.seconds)
            if until(page := Page(answer.body.decode())):
                return page
        raise AssertionError(f"never so:\n{answer.body.decode()[-2000:]}")

    box.write("fail nvmlDeviceGetHandleByIndex_v2 5 15", "xid 1 79 1")
    page = scraped(lambda page: 0.0 in page.by_gpu("cockpit_gpu_up").values())
    up = page.by_gpu("cockpit_gpu_up")
    figure("GPUs down besides the lost one", sum(value == 0.0 for gpu, value in up.items() if gpu != "5"))
    scraped(lambda page: "cockpit_gpu_xid_errors_total" in page.names())
    box.write("fail nvmlDeviceGetCount_v2 * 9")
    running.wait_for("starting again")
    began = time.monotonic()
    box.write()
    running.wait_until_served()
    scraped(lambda page: len(page.by_gpu("cockpit_gpu_power_watts")) == 8)
    figure("longest scrape across a lost GPU, an Xid and a reload", max(*seconds, running.served - began))
    figure("restarts across a lost GPU, an Xid and a reload", int(running.process.poll() is not None))
    assert running.process.pid == pid


def test_a_replaced_driver_ends_the_command_with_its_own_status(box: Box, running: Running) -> None:
    running.page_with("cockpit_gpu_power_watts")
    box.write("fail nvmlDeviceGetCount_v2 * 18")
    assert running.process.wait(timeout=30) == 3
    assert running.process.stderr is not None
    assert "version-mismatch: restart the process" in running.process.stderr.read()


@pytest.mark.row(63, "scrapes without right credentials that got numbers", most=0)
@pytest.mark.row(63, "answers of 401 to such scrapes", least=6)
def test_without_credentials_there_is_401_and_probes_need_none(
    box: Box, tmp_path: Path, figure: Tell
) -> None:
    users = tmp_path / "users"
    users.write_text(f"prometheus:{hashed('a secret', b'0123456789abcdef')}\nplain:open:sesame\n")
    running = Running(box, "--basic-auth-file", str(users))
    try:
        bare = running.get("/metrics")
        assert (bare.status, bare.headers["WWW-Authenticate"]) == (401, 'Basic realm="cockpit-exporter"')
        wrong = [
            basic("prometheus", "a secre"),
            basic("nobody", "a secret"),
            "Basic !!!",
            "Bearer a secret",
            basic("prometheus", "")[:-3],
        ]
        refused = [bare, *(running.get("/metrics", Authorization=one) for one in wrong)]
        figure("answers of 401 to such scrapes", sum(one.status == 401 for one in refused))
        numbers = sum(b"cockpit_" in one.body for one in refused)
        figure("scrapes without right credentials that got numbers", numbers)
        for right in (basic("prometheus", "a secret"), basic("plain", "open:sesame")):
            assert [running.get("/metrics", Authorization=right).status for _ in range(2)] == [200, 200]
        assert running.get("/healthz").status == 200
    finally:
        running.close()


def test_a_gate_forgets_rather_than_grow() -> None:
    gate = PasswordGate({f"user{number}": "p" for number in range(200)})
    assert all(gate.opens(basic(f"user{number}", "p")) for number in range(200))
    assert len(gate._good) <= 64


def test_the_flags_of_tls_ask_for_a_certificate_but_not_of_the_probes(box: Box, tmp_path: Path) -> None:
    own, key = certificate(tmp_path, "server")
    client, client_key = certificate(tmp_path, "client")
    running = Running(box, "--tls-cert", str(own), "--tls-key", str(key), "--client-ca", str(client))
    try:
        context = ssl.create_default_context(cafile=str(own))
        context.check_hostname = False
        assert running.get("/livez", context).status == 200
        assert running.get("/metrics", context).status == 403
        context.load_cert_chain(client, client_key)
        assert running.get("/metrics", context).status == 200
        with pytest.raises((OSError, http.client.HTTPException)):
            running.get("/livez")
        assert running.end() == 0
    finally:
        running.close()


BAD = [
    (["--interval", "0"], "--interval is 0: give 1 to 3600 seconds"),
    (["--interval", "often"], "--interval is 'often': give a number of seconds"),
    (["--deadline", "nan"], "--deadline is nan: give 0.1 to 60 seconds"),
    (["--listen", "9400"], "--listen is '9400': give HOST:PORT or :PORT, such as :9400"),
    (["--listen", "::1:9400"], "--listen is '::1:9400': an IPv6 address needs brackets, such as [::1]:9400"),
    (["--listen", ":70000"], "--listen is ':70000': give HOST:PORT or :PORT, such as :9400"),
    (["--dcgm-names", "B"], "--dcgm-names is 'B' and must be A (names up to 4.8.4) or C (since 4.9.0)"),
    (["--tls-cert", "x"], "--tls-cert and --tls-key go together: give both or neither"),
    (["--client-ca", "x"], "--client-ca needs --tls-cert and --tls-key"),
    (["--frob"], "unrecognized arguments: --frob"),
    (
        ["--basic-auth-file", "/nowhere"],
        "--basic-auth-file /nowhere cannot be read: [Errno 2] No such file or directory: '/nowhere'",
    ),
    (
        ["--resource-slices"],
        "--resource-slices needs KUBERNETES_SERVICE_HOST, which a pod has: leave the flag out elsewhere",
    ),
]


@pytest.mark.parametrize(("flags", "sentence"), BAD, ids=[" ".join(one[0]) for one in BAD])
def test_bad_flags_get_one_sentence_and_status_2(box: Box, flags: list[str], sentence: str) -> None:
    environment = {name: value for name, value in box.environment.items() if "KUBERNETES" not in name}
    done = subprocess.run(
        [*COMMAND, *flags], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"cockpit-exporter: {sentence}\n")


@pytest.mark.parametrize("package", ["pynvml", "grpc", "prometheus_client"])
def test_a_missing_package_is_named_with_the_remedy(package: str, tmp_path: Path) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; from cockpit_exporter.cli import main; main()"
    command = [sys.executable, "-c", program, "--listen", "127.0.0.1:0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "is missing: install cockpit-exporter" in done.stderr
    assert package in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "names no user"),
        ("user\n", "line 1 is not user:password"),
        ("a:b\nc:$2y$10$abc\n", "line 2 has a hash that is not of the form $scrypt$ln=12,r=8,p=1$SALT$HASH"),
        ("c:$scrypt$ln=30,r=8,p=1$c2FsdA==$aGFzaA==\n", "line 1 has a hash that is not of the form"),
    ],
)
def test_a_bad_file_of_users_names_the_line(box: Box, tmp_path: Path, text: str, sentence: str) -> None:
    users = tmp_path / "users"
    users.write_text(text)
    done = subprocess.run(
        [*COMMAND, "--basic-auth-file", str(users)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert sentence in done.stderr


def test_an_address_in_use_is_named(box: Box, running: Running) -> None:
    taken = f"127.0.0.1:{running.port}"
    command = [*COMMAND, "--listen", taken, "--pod-resources", "off"]
    done = subprocess.run(
        command, env=box.environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"cockpit-exporter: --listen {taken} cannot be used: ")


def test_check_tells_what_would_be_collected(box: Box) -> None:
    box.write("gpus 2", "mig 1 0 3 0 1g.10gb 9728", "fail nvmlDeviceGetPowerUsage 0 4")
    command = [*COMMAND, "--check", "--pod-resources", "off", "--node", "node-7"]
    done = subprocess.run(
        command, env=box.environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    words = [line.split() for line in done.stdout.splitlines()]
    assert ["node", "node-7"] in words
    assert ["driver", "580.95.05,", "NVML", "13.580.95.05,", "CUDA", "13.0"] in words
    assert [line[0] for line in words if len(line) > 1 and line[1].startswith("MIG-")] == ["1/3"]
    assert ["cockpit_gpu_power_watts", "1", "of", "2"] in [line[:4] for line in words]
    assert ["cockpit_gpu_retired_pages", "none"] in [line[:2] for line in words]
    assert "refused      nvmlDeviceGetPowerUsage: no-permission (1 of 2 cards)" in done.stdout
    assert "pods         not asked: no pod-resources socket was given" in done.stdout
    assert "XIDs         watching" in done.stdout


def test_check_without_a_driver_says_so_and_fails(box: Box, tmp_path: Path) -> None:
    box.environment["LD_LIBRARY_PATH"] = str(tmp_path)
    command = [*COMMAND, "--check", "--pod-resources", str(tmp_path / "none.sock")]
    done = subprocess.run(
        command, env=box.environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "driver       not usable: nvmlInitWithFlags: library-not-found" in done.stdout
    assert "pods         not known: unavailable" in done.stdout


def test_a_hashed_password_opens(box: Box) -> None:
    done = subprocess.run(
        [*COMMAND, "--hash-password"],
        input="pass word\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    gate = PasswordGate({"me": done.stdout.strip()})
    assert gate.opens(basic("me", "pass word"))
    assert not gate.opens(basic("me", "password"))
