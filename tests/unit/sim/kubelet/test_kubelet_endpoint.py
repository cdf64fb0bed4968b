"""The HTTPS endpoint by real clients: logs, exec and attach over WebSockets, and who may come in."""

import asyncio
import datetime
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cockpit.sim.actors.kubelet.endpoint import KubeletServer, server_context
from tests.unit.sim.kubelet.small_cluster import SmallCluster
from tests.unit.sim.kubelet.test_process_runtime import is_alive, live
from tests.waiting import until


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate that signs itself, for both sides."""
    return make_pair(tmp_path_factory.mktemp("pki"))


def make_pair(folder: Path) -> tuple[Path, Path]:
    """Write a certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubelets")])
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "tls.crt", folder / "tls.key"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.TraditionalOpenSSL
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return paths


def client_context(pair: tuple[Path, Path] | None) -> ssl.SSLContext:
    """TLS of a caller, with or without a certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if pair is not None:
        context.load_cert_chain(*pair)
    return context


@asynccontextmanager
async def served(cluster: SmallCluster, pair: tuple[Path, Path]) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of the cluster's endpoint."""
    server = KubeletServer(cluster.kubelets, server_context(*pair, pair[0]))
    port = await server.start()
    connector = aiohttp.TCPConnector(ssl=client_context(pair))
    try:
        async with aiohttp.ClientSession(f"https://127.0.0.1:{port}", connector=connector) as session:
            yield session
    finally:
        await server.stop()


async def text_of(session: aiohttp.ClientSession, path: str, status: int = 200) -> str:
    """The body of a GET."""
    async with session.get(path) as response:
        assert response.status == status, await response.text()
        return await response.text()


async def run_in(
    session: aiohttp.ClientSession, query: str, *, sent: list[bytes] | None = None, verb: str = "exec"
) -> tuple[bytes, bytes, dict[str, Any]]:
    """stdout, stderr and Status of an exec over v5."""
    output = {1: b"", 2: b""}
    status: dict[str, Any] = {}
    path = f"/{verb}/a/train/main?{query}"
    async with session.ws_connect(path, protocols=("v5.channel.k8s.io", "v4.channel.k8s.io")) as socket:
        assert socket.protocol == "v5.channel.k8s.io"
        for piece in sent or []:
            await socket.send_bytes(piece)
        async for message in socket:
            channel, data = message.data[0], message.data[1:]
            if channel == 3:
                status = json.loads(data)
            else:
                output[channel] += data
        assert socket.close_code == 1000
    return output[1], output[2], status


OUT = "output=1&error=1"


async def test_logs_of_a_simulated_training_in_every_option(pair: tuple[Path, Path]) -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(gpus=2, duration="100s", image_size="1Mi", step_seconds="1")
    await cluster.pass_(60)
    async with served(cluster, pair) as session:
        path = "/containerLogs/a/train/main"
        whole = (await text_of(session, path)).splitlines()
        assert whole[0].startswith("simulated training: 2 GPU(s)") and 50 < len(whole) < 61
        assert whole[1].startswith("epoch 1 step 1/") and "images/sec" in whole[1]
        assert (await text_of(session, path + "?tailLines=3")).splitlines() == whole[-3:]
        assert await text_of(session, path + "?tailLines=0") == ""
        assert len((await text_of(session, path + "?sinceSeconds=5")).splitlines()) in (4, 5, 6)
        stamped = (await text_of(session, path + "?timestamps=true&tailLines=1")).strip()
        assert (stamped.endswith(whole[-1]) and stamped[30:32] == "Z "[:2]) or "000Z " in stamped
        assert (await text_of(session, path + "?limitBytes=10")) == whole[0][:10]
        assert "Invalid request" in await text_of(session, path + "?tailLines=-1", 422)
        refusal = await text_of(session, path + "?previous=true", 400)
        assert refusal == 'previous terminated container "main" in pod "train" not found'
        assert await text_of(session, "/containerLogs/a/train/x", 404) == (
            'container "x" not found in pod "train"'
        )
        assert await text_of(session, "/containerLogs/a/none/main", 404) == 'pod "none" does not exist'
        await cluster.pass_(60)
        ended = (await text_of(session, path)).splitlines()
        assert ended[: len(whole)] == whole and ended[-1] == "done"


async def test_following_a_simulated_log_ends_with_its_container(pair: tuple[Path, Path]) -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(gpus=1, duration="forever", image_size="1Mi", step_seconds="2", stop_seconds="1")
    await cluster.pass_(30)
    async with served(cluster, pair) as session:
        async with session.get("/containerLogs/a/train/main?follow=true&tailLines=1") as response:
            first = await response.content.readline()
            assert first.startswith(b"epoch 1 step ")
            following = asyncio.create_task(response.content.read())
            await asyncio.sleep(0)
            for _ in range(40):
                await cluster.pass_(0.5)
                await asyncio.sleep(0.001)
            await cluster.delete()
            for _ in range(10):
                await cluster.pass_(0.5)
                await asyncio.sleep(0.001)
            lines = (await following).splitlines()
        assert len(lines) >= 9 and lines[-1] == b"SIGTERM received, stopping"
        steps = [int(line.split(b"step ")[1].split(b"/")[0]) for line in (first.strip(), *lines[:-1])]
        assert steps == list(range(steps[0], steps[0] + len(steps))), "a line was lost or told twice"


async def test_why_there_is_no_log_yet(pair: tuple[Path, Path]) -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(image_error="not-found")
    async with served(cluster, pair) as session:
        await cluster.pass_(0.01)
        path = "/containerLogs/a/train/main"
        where = 'container "main" in pod "train" is waiting to start: '
        assert await text_of(session, path, 400) == where + "ContainerCreating"
        await cluster.pass_(8)
        assert await text_of(session, path, 400) == where + "trying and failing to pull image"


async def test_the_shell_of_a_simulated_container(pair: tuple[Path, Path]) -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(
        gpus=2, duration="forever", image_size="1Mi", container={"env": [{"name": "A", "value": "b"}]}
    )
    await cluster.pass_(30)
    async with served(cluster, pair) as session:
        out, err, status = await run_in(session, f"{OUT}&command=nvidia-smi&command=-L")
        cards = cluster.kubelets.devices.devices("gpu-0")
        assert [card.encode() in out for card in cards[:3]] == [True, True, False]
        assert status["status"] == "Success"
        out, err, status = await run_in(session, f"{OUT}&command=python")
        assert b"simulated" in err and status["details"]["causes"] == [
            {"reason": "ExitCode", "message": "127"}
        ]
        typed = [b"\x00echo $A; hostname\r", b"\x00exit 3\r"]
        out, err, status = await run_in(session, "input=1&output=1&tty=1&command=sh", sent=typed)
        assert b"simulated container" in out and b"b\r\ntrain\r\n" in out
        assert status["reason"] == "NonZeroExitCode" and status["message"].endswith("exit status 3")
        best = "command=sh&command=-c&command=command+-v+bash+%26%26+exec+bash+%7C%7C+exec+sh"
        out, err, status = await run_in(session, f"input=1&output=1&tty=1&{best}", sent=typed)
        assert b"simulated container" in out and b"b\r\ntrain\r\n" in out
        assert status["message"].endswith("exit status 3")


async def test_a_stranger_gets_nothing_and_no_door_is_left_open(pair: tuple[Path, Path]) -> None:
    cluster = await SmallCluster().started()
    with pytest.raises(ValueError, match="client certificates"):
        KubeletServer(cluster.kubelets, ssl.create_default_context(ssl.Purpose.CLIENT_AUTH))
    async with served(cluster, pair) as session:
        assert await text_of(session, "/healthz") == "ok"
        stranger = aiohttp.TCPConnector(ssl=client_context(None))
        url = str(session._base_url)
        async with aiohttp.ClientSession(connector=stranger) as other:
            with pytest.raises(aiohttp.ClientError):
                await other.get(f"{url}pods")


async def test_a_certificate_alone_is_not_enough_where_names_are_given(pair: tuple[Path, Path]) -> None:
    cluster = await SmallCluster().started()
    for name, status in (("kubelets", 200), ("kube-apiserver-kubelet-client", 403)):
        context = server_context(*pair, pair[0])
        server = KubeletServer(cluster.kubelets, context, callers=(name,))
        port = await server.start()
        connector = aiohttp.TCPConnector(ssl=client_context(pair))
        async with aiohttp.ClientSession(f"https://127.0.0.1:{port}", connector=connector) as session:
            await text_of(session, "/healthz", status)
        await server.stop()


async def test_spdy_is_refused_by_name(pair: tuple[Path, Path]) -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(duration="forever", image_size="1Mi")
    await cluster.pass_(30)
    async with served(cluster, pair) as session:
        headers = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
        async with session.post("/exec/a/train/main?command=sh&output=1", headers=headers) as response:
            assert response.status == 400 and "WebSockets" in await response.text()


async def test_a_real_shell_with_pipes_and_on_a_terminal(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    async with live(tmp_path) as cluster, served(cluster, pair) as session:
        cluster.run("touch mine; sleep 300", container={"env": [{"name": "A", "value": "b"}]})
        await until(lambda: cluster.phase() == "Running")
        query = f"{OUT}&command=sh&command=-c&command=echo+$A;ls;echo+no+>%262;exit+4"
        out, err, status = await run_in(session, query)
        assert (out, err) == (b"b\nmine\n", b"no\n")
        assert status["details"]["causes"][0]["message"] == "4"
        out, _, status = await run_in(session, f"input=1&{OUT}&command=cat", sent=[b"\x00hello", b"\xff\x00"])
        assert out == b"hello" and status["status"] == "Success"
        typed = [b'\x04{"Width":123,"Height":45}', b"\x00stty size; tty; exit 5\n"]
        out, _, status = await run_in(session, "input=1&output=1&tty=1&command=sh", sent=typed)
        assert b"45 123" in out and b"/dev/pts/" in out
        assert status["details"]["causes"][0]["message"] == "5"
        _, _, status = await run_in(session, f"{OUT}&command=no-such-thing")
        assert status["reason"] == "InternalError" and "executable file not found" in status["message"]


async def test_much_in_and_much_out_lose_nothing(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    async with live(tmp_path) as cluster, served(cluster, pair) as session:
        cluster.run("sleep 300")
        await until(lambda: cluster.phase() == "Running")
        lots = "yes+0123456789|head+-c+2000000"
        out, _, status = await run_in(session, f"{OUT}&command=sh&command=-c&command={lots}")
        assert len(out) == 2_000_000 and status["status"] == "Success"
        out, _, _ = await run_in(session, f"output=1&tty=1&command=sh&command=-c&command={lots}")
        assert out.replace(b"\r", b"").count(b"0123456789") == 181_818
        script = "stty+raw+-echo;echo+go;head+-c+100000|wc+-c"
        path = f"/exec/a/train/main?input=1&output=1&tty=1&command=sh&command=-c&command={script}"
        async with session.ws_connect(path) as socket:
            while b"go" not in (await socket.receive()).data:
                pass
            for _ in range(10):
                await socket.send_bytes(b"\x00" + b"x" * 10_000)
            answer = b"".join([message.data[1:] async for message in socket])
        assert answer.startswith(b"100000")


async def test_what_was_started_in_a_container_ends_with_it(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    async with live(tmp_path) as cluster, served(cluster, pair) as session:
        cluster.run("read go", container={"stdin": True})
        await until(lambda: cluster.phase() == "Running")
        query = f"{OUT}&command=sh&command=-c&command=touch+here;sleep+300"
        entered = asyncio.create_task(run_in(session, query))
        await until(lambda: list(tmp_path.rglob("here")))
        await run_in(session, "input=1&output=1", sent=[b"\x00go\n"], verb="attach")
        await until(lambda: cluster.phase() == "Succeeded")
        async with asyncio.timeout(5):
            _, _, status = await entered
        assert status["details"]["causes"][0]["message"] == "137"


async def test_a_shell_that_is_left_alone_ends_with_its_caller(
    tmp_path: Path, pair: tuple[Path, Path]
) -> None:
    async with live(tmp_path) as cluster, served(cluster, pair) as session:
        cluster.run("sleep 300")
        await until(lambda: cluster.phase() == "Running")
        query = f"{OUT}&command=sh&command=-c&command=echo+$$;sleep+200"
        async with session.ws_connect(f"/exec/a/train/main?{query}") as socket:
            pid = 0
            while not pid:
                data = (await socket.receive()).data
                pid = int(data[1:] or 0)
            assert is_alive(pid)
        await until(lambda: not is_alive(pid), seconds=3.0)


async def test_real_output_is_followed_without_loss_and_attach_brings_it_too(
    tmp_path: Path, pair: tuple[Path, Path]
) -> None:
    async with live(tmp_path) as cluster, served(cluster, pair) as session:
        cluster.run(
            "read go; i=0; while [ $i -lt 400 ]; do echo $i; i=$((i+1)); done", container={"stdin": True}
        )
        await until(lambda: cluster.phase() == "Running")
        async with session.get("/containerLogs/a/train/main?follow=true&timestamps=true") as response:
            reading = asyncio.create_task(response.content.read())
            out, _, status = await run_in(session, "input=1&output=1", sent=[b"\x00go\n"], verb="attach")
            lines = (await reading).decode().splitlines()
        assert [line.split(" ")[1] for line in lines] == [str(index) for index in range(400)]
        assert out.split() == [str(index).encode() for index in range(400)] and status["status"] == "Success"
        assert lines[0].index("Z ") == 29
