"""TLS: trusted, not trusted, switched off; no key is left in a file."""

import base64
import shutil
import tempfile
from pathlib import Path

import pytest

from cockpit.clock import ManualClock
from cockpit.errors import NoConnection
from cockpit.kube.credentials import TRUST_SECONDS
from cockpit.kube.session import SessionOptions, open_session
from cockpit.model.trust import Trust
from tests.bed.pki import make_ca
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


async def test_authorities_that_are_mended_in_their_file_are_taken_without_a_restart(
    tls: tuple[str, str], tmp_path: Path, clock: ManualClock
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
        assert server.seen == []
        shutil.copyfile(tls[0], authority)
        clock.advance(TRUST_SECONDS)
        with pytest.raises(NoConnection, match="not trusted"):
            await session.request("GET", "/version")  # what makes it read the file again
        assert (await session.request("GET", "/version")).ok
        await session.close()


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
