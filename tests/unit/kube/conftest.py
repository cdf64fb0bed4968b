"""A scripted API server and a session on it."""

import datetime
import ipaddress
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from tests.unit.kube.builders import FakeServer, kubeconfig, serving
from tests.unit.kube.watching import Watcher


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(autouse=True)
def no_ambient_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "KUBECONFIG",
        "KUBERNETES_SERVICE_HOST",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with serving(FakeServer()) as running:
        yield running


@pytest.fixture
async def session(server: FakeServer, tmp_path: Path, clock: ManualClock) -> AsyncIterator[ApiSession]:
    opened = await open_session(
        SessionOptions(kubeconfig=kubeconfig(tmp_path, server.url), check=False), clock
    )
    yield opened
    await opened.close()


@pytest.fixture
def watcher(session: ApiSession, clock: ManualClock) -> Watcher:
    return Watcher(session, clock)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Certificate and key files for 127.0.0.1, self-signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=3650))
        .not_valid_after(now + datetime.timedelta(days=36500))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("apiserver.test"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = folder / "tls.crt", folder / "tls.key"
    cert_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return str(cert_file), str(key_file)
