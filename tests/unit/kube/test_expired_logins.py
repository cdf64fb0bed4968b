"""A login that is no longer good is told as that: whose, since when, by which file, and what to do."""

import base64
import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cockpit.clock import ManualClock
from cockpit.errors import LoginExpired, NoConnection
from cockpit.kube.certificate import validity_of
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from tests.reliability.figures import Tell
from tests.unit.kube.builders import FakeServer, kubeconfig, refuse, reply, server_side, serving

DAY = 86_400.0


def certificate(
    folder: Path, begins_seconds: float, ends_seconds: float, name: str = "ann"
) -> tuple[Path, Path]:
    """A self-signed client certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), 1)
        .not_valid_before(datetime.datetime.fromtimestamp(begins_seconds, datetime.UTC))
        .not_valid_after(datetime.datetime.fromtimestamp(ends_seconds, datetime.UTC))
        .sign(key, hashes.SHA256())
    )
    files = folder / f"{name}.crt", folder / f"{name}.key"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return files


def inline(file: Path, key: Path) -> dict[str, str]:
    """The same as data."""
    parts = {"client-certificate-data": file, "client-key-data": key}
    return {name: base64.b64encode(path.read_bytes()).decode() for name, path in parts.items()}


async def opened(path: str, clock: ManualClock) -> ApiSession:
    return await open_session(SessionOptions(kubeconfig=path), clock)


async def sentence_of(path: str, clock: ManualClock) -> str:
    with pytest.raises(LoginExpired) as caught:
        await opened(path, clock)
    assert "denied" not in caught.value.sentence
    return caught.value.sentence


# ---- client certificates


@pytest.mark.parametrize("year", [2026, 2049, 2050, 2151])
def test_how_long_a_certificate_is_valid(tmp_path: Path, year: int) -> None:
    ends = datetime.datetime(year, 3, 4, 5, 6, 7, tzinfo=datetime.UTC).timestamp()
    file, _ = certificate(tmp_path, 1_000_000_000.0, ends)
    found = validity_of(f"bag attributes\n{file.read_text()}")
    assert found is not None
    assert (found.begins_seconds, found.ends_seconds) == (1_000_000_000.0, ends)


@pytest.mark.parametrize("cut", [0, 40, 120, 160])
def test_what_is_no_certificate_says_nothing(tmp_path: Path, cut: int) -> None:
    file, _ = certificate(tmp_path, 0.0, 1e9)
    lines = file.read_text().splitlines()
    body = "".join(lines[1:-1])[: cut // 4 * 4]
    assert validity_of(f"{lines[0]}\n{body}\n{lines[-1]}") is None
    assert validity_of(lines[0]) is None


@pytest.mark.row(26, "requests by a certificate that has expired", most=0)
@pytest.mark.row(26, "sentences that name file and date", least=1)
@pytest.mark.parametrize("is_inline", [False, True])
async def test_an_expired_certificate_is_told_with_its_place_and_date_before_a_request(
    tls: tuple[str, str], tmp_path: Path, clock: ManualClock, is_inline: bool, figure: Tell
) -> None:
    ends = datetime.datetime.fromtimestamp(clock.now() - DAY, datetime.UTC)
    file, key = certificate(tmp_path, clock.now() - 9 * DAY, ends.timestamp())
    user = {"client-certificate": str(file), "client-key": str(key)}
    if is_inline:
        user = inline(file, key)
    async with serving(FakeServer(), ssl_context=server_side(tls)) as server:
        path = kubeconfig(tmp_path, server.url, {"certificate-authority": tls[0]}, user=user)
        sentence = await sentence_of(path, clock)
        figure("requests by a certificate that has expired", len(server.seen))
    place = f"inline in user me of {path}" if is_inline else str(file)
    told = f"The client certificate {place} expired on {ends:%Y-%m-%d %H:%M} UTC; renew"
    figure("sentences that name file and date", sentence.startswith(told))


async def test_a_certificate_of_tomorrow_is_told(tmp_path: Path, clock: ManualClock) -> None:
    file, key = certificate(tmp_path, clock.now() + DAY, clock.now() + 2 * DAY)
    user = {"client-certificate": str(file), "client-key": str(key)}
    sentence = await sentence_of(kubeconfig(tmp_path, "https://127.0.0.1:1", user=user), clock)
    assert "is valid only from" in sentence
    assert "clock of this host" in sentence


@pytest.mark.row(26, "requests by a certificate that ended meanwhile", most=0)
@pytest.mark.row(26, "requests by the next one without a restart", least=1)
async def test_a_certificate_that_ends_meanwhile_is_read_again(
    tls: tuple[str, str], tmp_path: Path, clock: ManualClock, figure: Tell
) -> None:
    file, key = certificate(tmp_path, clock.now() - DAY, clock.now() + 100)
    user = {"client-certificate": str(file), "client-key": str(key)}
    async with serving(FakeServer(), ssl_context=server_side(tls)) as server:
        path = kubeconfig(tmp_path, server.url, {"certificate-authority": tls[0]}, user=user)
        session = await opened(path, clock)
        sent = len(server.seen)
        clock.advance(200)
        for _ in range(3):
            with pytest.raises(LoginExpired, match="expired on"):
                await session.request("GET", "/version")
        figure("requests by a certificate that ended meanwhile", len(server.seen) - sent)
        certificate(tmp_path, clock.now() - DAY, clock.now() + DAY)
        clock.advance(31)
        figure("requests by the next one without a restart", (await session.request("GET", "/version")).ok)
        await session.close()


# ---- what a 401 means, by the way in which a user logs in


@pytest.mark.parametrize(
    ("user", "words"),
    [
        (
            {"username": "ann", "password": "geheim"},
            "Kubernetes 1.19 removed logging in by username and password",
        ),
        ({"token": "geheim"}, "the token or certificate has expired or is wrong; log in again"),
        ({"tokenFile": "geheim.token"}, "geheim.token has expired or is wrong; renew it"),
        ({}, "the user has no token, certificate or plugin to log in with"),
    ],
)
async def test_a_refused_login_is_told_by_its_way(
    server: FakeServer, tmp_path: Path, clock: ManualClock, user: dict[str, Any], words: str
) -> None:
    (tmp_path / "geheim.token").write_text("x")
    server.on("/version", refuse(401, "Unauthorized", "Unauthorized"))
    sentence = await sentence_of(kubeconfig(tmp_path, server.url, user=user), clock)
    assert "rejected the credentials of me (401)" in sentence
    assert words in sentence


async def test_a_token_file_goes_before_the_token_and_the_token_stands_in_for_it(
    server: FakeServer, tmp_path: Path, clock: ManualClock
) -> None:
    path = kubeconfig(tmp_path, server.url, user={"token": "inline", "tokenFile": "file"})
    (tmp_path / "file").write_text("of the file\n")
    await (await opened(path, clock)).close()
    (tmp_path / "file").unlink()
    await (await opened(path, clock)).close()
    (tmp_path / "file").write_text(" \n")
    await (await opened(path, clock)).close()
    assert [one.headers["Authorization"] for one in server.seen] == [
        "Bearer of the file",
        "Bearer inline",
        "Bearer inline",
    ]


async def test_an_empty_token_file_alone_is_no_anonymous_user(
    server: FakeServer, tmp_path: Path, clock: ManualClock
) -> None:
    (tmp_path / "file").write_text("\n")
    with pytest.raises(NoConnection, match=r"tokenFile .*/file is missing or empty"):
        await opened(kubeconfig(tmp_path, server.url, user={"tokenFile": "file"}), clock)
    assert server.seen == []


# ---- OpenID Connect


def jwt(ends_seconds: float, name: str = "ann") -> str:
    """An unsigned token whose payload has letters of base64url only."""
    payload = json.dumps({"exp": ends_seconds, "sub": name, "odd": "~~~???>>>"}).encode()
    return f"e30.{base64.urlsafe_b64encode(payload).decode().rstrip('=')}.sig"


def oidc_user(issuer: FakeServer, **config: str) -> dict[str, Any]:
    whole = {"idp-issuer-url": issuer.url, "client-id": "cockpit", "refresh-token": "r-1", **config}
    return {"auth-provider": {"name": "oidc", "config": whole}}


@pytest.mark.parametrize("secret", ["", "s"])
async def test_an_id_token_is_renewed_in_time_with_and_without_a_client_secret(
    server: FakeServer, tmp_path: Path, clock: ManualClock, secret: str
) -> None:
    async with serving(FakeServer()) as issuer:
        first, second = jwt(clock.now() + 600), jwt(clock.now() + 1200)
        issuer.on("/.well-known/openid-configuration", reply({"token_endpoint": f"{issuer.url}/token"}))
        # another refresh token may be given, or not
        issuer.on("/token", reply({"id_token": first}), reply({"id_token": second, "refresh_token": "r-2"}))
        more = {"client-secret": secret} if secret else {}
        path = kubeconfig(tmp_path, server.url, user=oidc_user(issuer, **more))
        session = await opened(path, clock)
        clock.advance(400)
        await session.request("GET", "/version")
        clock.advance(150)
        await session.request("GET", "/version")
        await session.close()
        asked = [one for one in issuer.seen if one.path == "/token"]
    assert [one.headers["Authorization"] for one in server.seen] == [
        f"Bearer {token}" for token in (first, first, second)
    ]
    forms = [one.body.decode() for one in asked]
    assert len(forms) == 2
    for sent, form in zip(asked, forms, strict=True):
        assert "refresh_token=r-1" in form
        assert ("client_id=cockpit" in form) is not bool(secret)
        assert ("Authorization" in sent.headers) is bool(secret)


async def test_a_login_that_the_provider_does_not_renew_is_told(
    server: FakeServer, tmp_path: Path, clock: ManualClock
) -> None:
    async with serving(FakeServer()) as issuer:
        issuer.on("/.well-known/openid-configuration", reply({"token_endpoint": f"{issuer.url}/token"}))
        issuer.on("/token", reply({"error": "invalid_grant", "error_description": "session ended"}, 400))
        path = kubeconfig(tmp_path, server.url, user=oidc_user(issuer, **{"id-token": jwt(clock.now() - 1)}))
        sentence = await sentence_of(path, clock)
    assert f"The identity provider {issuer.url} of user me does not renew the login" in sentence
    assert "session ended" in sentence
    assert server.seen == []


async def test_a_token_that_is_still_good_outlives_a_provider_that_is_away(
    server: FakeServer, tmp_path: Path, clock: ManualClock
) -> None:
    async with serving(FakeServer()) as issuer:
        user = oidc_user(issuer, **{"id-token": jwt(clock.now() + 60)})
    path = kubeconfig(tmp_path, server.url, user=user)
    session = await opened(path, clock)
    assert (await session.request("GET", "/version")).ok
    clock.advance(61)
    with pytest.raises(NoConnection, match="cannot be asked"):
        await session.request("GET", "/version")
    await session.close()


async def test_a_provider_without_a_known_authority_gets_no_refresh_token(
    server: FakeServer, tls: tuple[str, str], tmp_path: Path, clock: ManualClock
) -> None:
    async with serving(FakeServer(), ssl_context=server_side(tls)) as issuer:
        issuer.on("/.well-known/openid-configuration", reply({"token_endpoint": f"{issuer.url}/token"}))
        issuer.on("/token", reply({"id_token": jwt(clock.now() + 600)}))
        path = kubeconfig(tmp_path, server.url, user=oidc_user(issuer))
        with pytest.raises(NoConnection, match="cannot be asked"):
            await opened(path, clock)
        assert issuer.seen == []
        known = oidc_user(issuer, **{"idp-certificate-authority": tls[0]})
        await (await opened(kubeconfig(tmp_path, server.url, user=known), clock)).close()
