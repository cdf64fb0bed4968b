"""TLS: trusted, not trusted, switched off; no key is left in a file."""

import asyncio
import base64
import contextlib
import shutil
import ssl
import tempfile
import warnings
from pathlib import Path
from typing import Self

import pytest

from cockpit.clock import ManualClock
from cockpit.errors import CockpitError, NoConnection
from cockpit.kube.credentials import AGAIN_SECONDS
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from cockpit.model.trust import Trust
from tests.bed.pki import make_ca
from tests.reliability.figures import Tell
from tests.unit.kube.builders import FakeServer, kubeconfig, server_side, serving


def options(path: str) -> SessionOptions:
    return SessionOptions(kubeconfig=path)


async def sentence_of(path: str, clock: ManualClock) -> str:
    with pytest.raises(NoConnection) as caught:
        await open_session(options(path), clock)
    return caught.value.sentence


async def test_tls(tls: tuple[str, str], tmp_path: Path, clock: ManualClock) -> None:
    async with serving(FakeServer(), ssl_context=server_side(tls)) as server:
        good = kubeconfig(tmp_path, server.url, {"certificate-authority": tls[0]})
        session = await open_session(options(good), clock)
        assert session.trust is Trust.VERIFIED
        await session.close()

        named = kubeconfig(
            tmp_path, server.url, {"certificate-authority": tls[0], "tls-server-name": "apiserver.test"}
        )
        await (await open_session(options(named), clock)).close()

        skipped = kubeconfig(tmp_path, server.url, {"insecure-skip-tls-verify": True})
        session = await open_session(options(skipped), clock)
        assert session.trust is Trust.UNVERIFIED
        await session.close()
        sent = len(server.seen)

        sentence = await sentence_of(kubeconfig(tmp_path, server.url), clock)
        assert "TLS" in sentence
        assert "not trusted" in sentence
        wrong = kubeconfig(
            tmp_path, server.url, {"certificate-authority": tls[0], "tls-server-name": "other.test"}
        )
        assert "TLS" in await sentence_of(wrong, clock)
        assert len(server.seen) == sent  # not one byte of the token was sent


@pytest.mark.row(26, "requests while the authority is another one", most=0)
@pytest.mark.row(26, "requests by the new authority without a restart", least=1)
async def test_authorities_that_are_mended_in_their_file_are_taken_without_a_restart(
    tls: tuple[str, str], tmp_path: Path, clock: ManualClock, figure: Tell
) -> None:
    """While they are wrong no byte of the token leaves; how often the file is read is bounded."""
    authority, stranger = tmp_path / "ca.crt", make_ca(tmp_path, "stranger")
    shutil.copyfile(stranger.certificate_file, authority)
    async with serving(FakeServer(), ssl_context=server_side(tls)) as server:
        path = kubeconfig(tmp_path, server.url, {"certificate-authority": str(authority)})
        unchecked = SessionOptions(kubeconfig=path, check=False)
        session = await open_session(unchecked, clock)
        for _ in range(2):
            with pytest.raises(NoConnection, match="not trusted"):
                await session.request("GET", "/version")
        figure("requests while the authority is another one", len(server.seen))
        assert session.trust is Trust.VERIFIED
        shutil.copyfile(tls[0], authority)
        clock.advance(AGAIN_SECONDS)
        with pytest.raises(NoConnection, match="not trusted"):
            await session.request("GET", "/version")  # what makes it read the file again
        figure(
            "requests by the new authority without a restart", (await session.request("GET", "/version")).ok
        )
        assert session.trust is Trust.VERIFIED
        await session.close()


TOKEN = "token-of-nobody-else"


class Listener:
    """Whatever is sent to a port, behind TLS or without; it answers nothing, or `answer`."""

    def __init__(self, tls: ssl.SSLContext | None, answer: bytes = b"") -> None:
        self.heard = b""
        self.connections = 0
        self.port = 0
        self._tls, self._answer = tls, answer

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(OSError):
            while piece := await reader.read(1 << 16):
                self.heard += piece
                writer.write(self._answer)
                if not self._answer:
                    break
        writer.close()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._hear, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()


def old_tls(tls: tuple[str, str]) -> ssl.SSLContext:
    """A server that speaks TLS 1.1 at most."""
    context = server_side(tls)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


LIES = ("wrong host", "self-signed", "TLS 1.1", "no TLS", "TLS that leads elsewhere")


@pytest.mark.row(27, "bytes of the token sent", most=0)
@pytest.mark.row(27, "ways to ask, of which each was refused", least=15)
async def test_a_server_that_is_not_who_it_should_be_hears_nothing_of_the_token(
    tls: tuple[str, str], tmp_path: Path, clock: ManualClock, figure: Tell
) -> None:
    """A request, a stream and a WebSocket each; a redirect is followed to no other server."""
    sent = refused = 0
    for lie in LIES:
        side = {"no TLS": None, "TLS 1.1": old_tls(tls)}.get(lie, server_side(tls))
        async with Listener(None) as other:
            where = f"Location: http://127.0.0.1:{other.port}/"
            leads = f"HTTP/1.1 307 Elsewhere\r\n{where}\r\nContent-Length: 0\r\n\r\n".encode()
            async with Listener(side, leads if "elsewhere" in lie else b"") as liar:
                cluster = {} if lie == "self-signed" else {"certificate-authority": tls[0]}
                if lie == "wrong host":
                    cluster["tls-server-name"] = "other.test"
                path = kubeconfig(tmp_path, f"https://127.0.0.1:{liar.port}", cluster, user={"token": TOKEN})
                session = await open_session(SessionOptions(kubeconfig=path, check=False), clock)
                session.unlock()
                for ask in (_request, _stream, _socket):
                    try:
                        refused += await ask(session) != 200
                    except CockpitError:
                        refused += 1
                await session.close()
                heard = other.heard if "elsewhere" in lie else liar.heard
                assert "elsewhere" not in lie or TOKEN.encode() in liar.heard, "it is trusted, and was asked"
                sent += heard.count(TOKEN.encode()) * len(TOKEN)
    figure("bytes of the token sent", sent)
    figure("ways to ask, of which each was refused", refused)


async def _request(session: ApiSession) -> int:
    return (await session.request("GET", "/version", timeout_seconds=5)).status


async def _stream(session: ApiSession) -> int:
    async with session.stream("/api/v1/pods", query=[("watch", "1")], idle_seconds=5) as answer:
        return answer.status


async def _socket(session: ApiSession) -> int:
    path = "/api/v1/namespaces/a/pods/p/portforward"
    async with asyncio.timeout(5), session.socket(path, protocols=("v4.channel.k8s.io",)):
        return 200


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of our own for temporary files."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def encoded(tls: tuple[str, str]) -> dict[str, str]:
    names = zip(("crt", "key"), tls, strict=True)
    return {name: base64.b64encode(Path(file).read_bytes()).decode() for name, file in names}


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_certificates_as_data_leave_no_files(
    tls: tuple[str, str], tmp_path: Path, clock: ManualClock, private: Path
) -> None:
    data = encoded(tls)
    user = {"client-certificate-data": data["crt"], "client-key-data": data["key"]}
    async with serving(FakeServer(), ssl_context=server_side(tls)) as server:
        for _ in range(2):  # the loader remembers the files it wrote: they must not be missed the second time
            path = kubeconfig(tmp_path, server.url, {"certificate-authority-data": data["crt"]}, user=user)
            await (await open_session(options(path), clock)).close()
            assert names_in(private) == []


async def test_http_on_a_tls_port(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    sentence = await sentence_of(kubeconfig(tmp_path, server.url.replace("http:", "https:")), clock)
    assert "TLS with 127.0.0.1" in sentence
