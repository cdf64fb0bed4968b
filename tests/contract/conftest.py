"""Fixtures of the contract suite. Which server it is, is known here and nowhere else."""

import asyncio
import contextlib
import io
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cockpit.cli import main
from cockpit.clock import SystemClock
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract.asking import in_space, maps_in
from tests.contract.only_on_one import table
from tests.contract.opening import WriteUser
from tests.contract.server import STARTERS, Server, chosen, is_known, write_kubeconfig
from tests.contract.shapes import configmap, crd

HERE = Path(__file__).parent
Connect = Callable[..., Awaitable[ApiSession]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--server",
        default="real",
        help="what the contract suite runs against: real, embedded, or a contract.json file",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A case on a real server needs the bed: the marker `real` keeps it out of a run without one."""
    if config.getoption("--server", "real") == "embedded":
        return
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("real")


def pytest_configure(config: pytest.Config) -> None:
    if not is_known(name := config.getoption("--server", "real")):
        raise pytest.UsageError(
            f"--server {name!r} is neither {', '.join(STARTERS)} nor a contract.json file"
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says which cases only one kind of server can run, and why."""
    ran = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, ())]
    if not any(one.nodeid.startswith("tests/contract/") for one in ran):
        return
    terminalreporter.section(f"contract: cases of one server only (this one: {config.getoption('--server')})")
    for line in table():
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    name = request.config.getoption("--server", "real")
    with chosen(name, lambda: request.session.testsfailed > 0) as one:
        yield one


@pytest.fixture(autouse=True)
def _needs(request: pytest.FixtureRequest) -> None:
    """Skips a case that asked by `needs(...)` for what this server cannot do."""
    wanted = getattr(request.function, "needs", ())
    if wanted:
        one: Server = request.getfixturevalue("server")
        for capability in wanted:
            if not one.can(capability):
                pytest.skip(f"this server has no {capability}")


@pytest.fixture(scope="session")
def admin(server: Server) -> Api:
    return server.api("admin")


@pytest.fixture
def space(admin: Api, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace for this case alone. It goes with its server where that was started for the suite: a real
    controller asks for every kind there is before a namespace is gone, more work than the case itself."""
    name = f"case-{uuid.uuid4().hex[:10]}"
    admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    if request.config.getoption("--server", "real") not in STARTERS:
        admin.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
async def connect(server: Server, tmp_path: Path) -> AsyncIterator[Connect]:
    """`await connect("viewer", write=True, through=proxy)`: a session, closed at the end of the case."""
    opened: list[ApiSession] = []

    async def open_one(
        role: str = "admin", *, write: bool = False, through: FaultProxy | None = None
    ) -> ApiSession:
        if through is None:
            options = SessionOptions(
                kubeconfig=str(server.kubeconfig), context=server.contexts[role], read_only=not write
            )
        else:
            path = tmp_path / f"kubeconfig-{len(opened)}"
            write_kubeconfig(path, through.url, {"token": server.tokens[role]})
            options = SessionOptions(kubeconfig=str(path), context="one", read_only=not write)
        session = await open_session(options, SystemClock())
        opened.append(session)
        return session

    yield open_one
    for session in opened:
        await session.close()


@pytest.fixture
async def proxy(server: Server) -> AsyncIterator[FaultProxy]:
    """A proxy before the server that does as it is told, and nothing else until then."""
    async with FaultProxy(server.url, server.ca_file) as one:
        yield one


def needs(*capabilities: str) -> Callable[[Any], Any]:
    """Marks a case with the capabilities it cannot do without."""

    def mark(function: Any) -> Any:
        function.needs = capabilities
        return function

    return mark


@pytest.fixture(scope="session")
def own_certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody signed but itself, and its key."""
    from tests.bed import pki

    folder = tmp_path_factory.mktemp("own-certificate")
    made = pki.make_server(folder, "own", pki.make_ca(folder, "own-ca"), ("127.0.0.1", "localhost"))
    chain = folder / "chain.crt"
    chain.write_bytes(made.certificate_file.read_bytes() + (folder / "own-ca.crt").read_bytes())
    return chain, made.key_file


@pytest.fixture(scope="session")
def pools(admin: Api) -> Resource:
    """A pool-shaped custom kind with scale and status subresources, served and ready."""
    return define(admin, crd("gpupools", "GpuPool"))


def define(admin: Api, definition: dict[str, Any]) -> Resource:
    """Creates a custom kind and waits until it is served."""
    base = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    spec = definition["spec"]
    admin.create(base, definition)
    version = spec["versions"][0]["name"]
    path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
    deadline = time.monotonic() + 20
    while admin.request("GET", path).status != 200:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} is not served within 20 s")
        time.sleep(0.02)
    return Resource(
        spec["group"], version, spec["names"]["plural"], spec["names"]["kind"], spec["scope"] == "Namespaced"
    )


@contextlib.contextmanager
def defined(admin: Api, *definitions: dict[str, Any]) -> Iterator[list[Resource]]:
    """Custom kinds that the cockpit knows, as long as this lasts: other cases look at a server without them,
    in whatever order workers come to them. Waits until each is gone, so that the next may define it."""
    base = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    paths = [f"{base}/{one['metadata']['name']}" for one in definitions]
    try:
        yield [define(admin, one) for one in definitions]
    finally:
        for path in paths:
            admin.request("DELETE", path)
        deadline = time.monotonic() + 60
        while left := [path for path in paths if admin.request("GET", path).status != 404]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{left[0]} is not gone within 60 s")
            time.sleep(0.02)


@pytest.fixture
def as_user(server: Server, tmp_path: Path) -> WriteUser:
    """Writes a kubeconfig for the real address and CA with the given user entry; answers its path."""
    return lambda user: write_kubeconfig(tmp_path / "kubeconfig", server.url, user, ca=server.ca_file)


@pytest.fixture
async def session(connect: Connect) -> ApiSession:
    """The admin's session with writing on."""
    return await connect(write=True)


@pytest.fixture
def kept(admin: Api, space: str) -> str:
    """Path of a config map with a=1, b=2."""
    admin.create(maps_in(space), configmap("kept", a="1", b="2"))
    return in_space(space, "configmaps", "kept")


@pytest.fixture
def said(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command as `role`: (exit code, all that it said)."""
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))

    async def run(*words: str, given: str = "", role: str = "admin") -> tuple[int, str]:
        out = io.StringIO()
        monkeypatch.setattr("sys.stdin", io.StringIO(given))
        reach = ["--kubeconfig", str(server.kubeconfig), "--context", server.contexts[role]]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = await asyncio.to_thread(main, [*words, *reach])
        return code, out.getvalue()

    return run
