"""The id-token of a kubeconfig's `auth-provider: oidc`, renewed in time, also for clients without a secret.

`kubernetes.aio` asks for a client secret, sends the refresh token to a server whose certificate it does not
check where no authority is given, takes it for granted that the answer holds another refresh token, and reads
base64url as base64. Source
of the protocol: OpenID Connect Discovery 1.0; RFC 6749, sections 2.3.1 and 6.
"""

import base64
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from cockpit.errors import LoginExpired, NoConnection
from cockpit.kube.authorities import aiohttp
from cockpit.sanitise import clean

DEADLINE_SECONDS = 15.0
EARLY_SECONDS = 90.0
"""An id-token is renewed this long before it expires: longer than the interval between two checks."""
_MOST_BYTES = 1 << 20


async def keep_fresh(user: str, config: dict[str, Any], now_seconds: float) -> float:
    """Renew the id-token in `config` where its end is near; the answer is when it ends, in epoch seconds,
    infinite where it does not say.

    Raises as `refresh`, but not as long as the token in force is good.
    """
    ends_seconds = _end_of(user, config["id-token"]) if "id-token" in config else 0.0
    if now_seconds < ends_seconds - EARLY_SECONDS:
        return ends_seconds
    try:
        await refresh(user, config)
    except NoConnection:
        if now_seconds >= ends_seconds:
            raise
    return _end_of(user, config["id-token"])


def _end_of(user: str, token: str) -> float:
    """`exp` of a JWT (RFC 7519)."""
    parts = token.split(".")
    try:
        payload = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        ends = payload.get("exp")
        return float("inf") if ends is None else float(ends)
    except (IndexError, ValueError, TypeError, AttributeError):
        raise LoginExpired(
            f"User {user}: auth-provider.config.id-token is not a JWT; log in to the identity provider again."
        ) from None


async def refresh(user: str, config: dict[str, Any]) -> None:
    """Put a new id-token, and a new refresh-token where one was given, into `config`.

    Raises LoginExpired where the provider refuses, NoConnection where it cannot be asked. Both name the user.
    """
    issuer = config["idp-issuer-url"].rstrip("/")
    where = f"The identity provider {clean(issuer, 200)} of user {user}"
    if not config.get("refresh-token"):
        raise LoginExpired(f"{where}: the id-token has expired and there is no refresh-token; log in again.")
    timeout = aiohttp.ClientTimeout(total=DEADLINE_SECONDS)
    try:
        connector = aiohttp.TCPConnector(ssl=_trust(config))
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=True) as client:
            found = await _json(client.get(f"{issuer}/.well-known/openid-configuration"))
            endpoint = found[1].get("token_endpoint")
            if found[0] != 200 or not isinstance(endpoint, str):
                raise NoConnection(f"{where} does not say where tokens are renewed (HTTP {found[0]}).")
            status, given = await _ask(client, endpoint, config)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        reason = clean(str(error), 200) or type(error).__name__
        raise NoConnection(
            f"{where} cannot be asked ({reason}); check idp-issuer-url and the network."
        ) from None
    if status != 200 or not isinstance(given.get("id_token"), str):
        why = clean(str(given.get("error_description") or given.get("error") or f"HTTP {status}"), 200)
        raise LoginExpired(f"{where} does not renew the login ({why}); log in again.")
    config["id-token"] = given["id_token"]
    if isinstance(given.get("refresh_token"), str):
        config["refresh-token"] = given["refresh_token"]


async def _ask(client: Any, endpoint: str, config: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """As client-go asks: the secret in the header, else in the body; a public client names itself there."""
    identity, secret = config["client-id"], config.get("client-secret")
    form = {"grant_type": "refresh_token", "refresh_token": config["refresh-token"]}
    named = {**form, "client_id": identity}
    if not secret:
        return await _json(client.post(endpoint, data=named))
    # RFC 6749, section 2.3.1: both are encoded as in a form before they are joined
    pair = f"{quote_plus(identity)}:{quote_plus(secret)}"
    login = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    status, given = await _json(client.post(endpoint, data=form, headers=login))
    if status in (400, 401):
        status, given = await _json(client.post(endpoint, data={**named, "client_secret": secret}))
    return status, given


async def _json(asking: Any) -> tuple[int, dict[str, Any]]:
    """Status and body of an answer; {} where the body is no JSON object."""
    async with asking as response:
        body = b""
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > _MOST_BYTES:
                raise ValueError(f"its answer is longer than {_MOST_BYTES} bytes")
        try:
            tree = json.loads(body)
        except ValueError:
            tree = {}
        return response.status, tree if isinstance(tree, dict) else {}


def _trust(config: dict[str, Any]) -> ssl.SSLContext:
    """The provider's own authority, else those of the machine: it is always checked."""
    data, file = config.get("idp-certificate-authority-data"), config.get("idp-certificate-authority")
    if data:
        return ssl.create_default_context(cadata=base64.b64decode(data).decode("ascii"))
    return ssl.create_default_context(cadata=Path(file).read_text(encoding="ascii") if file else None)
