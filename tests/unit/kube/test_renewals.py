"""Rows 21, 24 and 25 of the reliability table: logins that end while we run, by a clock that tests move."""

import asyncio
import datetime
import json
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.errors import LoginExpired
from cockpit.kube import credentials
from cockpit.kube.logins import Logins
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from cockpit.model.batch import Phase
from tests.reliability.figures import Tell, whole
from tests.unit.kube.builders import FakeServer, bookmark, kubeconfig, refuse, reply, serving
from tests.unit.kube.test_exec_plugin import Lender
from tests.unit.kube.test_expired_logins import jwt, oidc_user
from tests.unit.kube.watching import PATH, Watcher

LIFE_SECONDS = 10.0
AT_A_TIME = 5
PATIENCE = whole(3600, 200)
"""Seconds through which a provider refuses."""
RENEWALS = whole(1_000, 60)
UNAUTHORIZED = refuse(401, "Unauthorized", "Unauthorized")


class Tokens:
    """A server that takes one token at a time, and the plugin or file that gives it."""

    def __init__(self, folder: Path, clock: ManualClock) -> None:
        self.folder = folder
        self.clock = clock
        self.ends_seconds: dict[str, float] = {}
        self.issued = 0
        self.refused = 0
        self.watches: list[asyncio.Event] = []
        self._watched = asyncio.Event()

    def issue(self, life_seconds: float = LIFE_SECONDS) -> str:
        """The token that the plugin gives from now on."""
        self.issued += 1
        token, end = f"t-{self.issued}", self.clock.now() + life_seconds
        self.ends_seconds[token] = end
        ends = datetime.datetime.fromtimestamp(end, datetime.UTC).isoformat()
        given = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {"token": token, "expirationTimestamp": ends},
        }
        (self.folder / "given").write_text(json.dumps(given) + "\n")
        return token

    def plugin(self) -> dict[str, Any]:
        """A user of a kubeconfig whose plugin gives the token, and writes down that it ran."""
        script = self.folder / "plugin"
        script.write_text(
            f"#!/bin/sh\necho run >> {self.folder}/runs\nread -r line < {self.folder}/given\n"
            'printf "%s" "$line"\n'
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)}}

    @property
    def runs(self) -> int:
        file = self.folder / "runs"
        return file.read_text().count("run") if file.exists() else 0

    def takes(self, request: web.Request) -> bool:
        """Whether the request is let in."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        is_good = self.clock.now() < self.ends_seconds.get(token, 0.0)
        self.refused += not is_good
        return is_good

    async def version(self, request: web.Request) -> web.StreamResponse:
        return await (reply({"gitVersion": "v1.36.0"}) if self.takes(request) else UNAUTHORIZED)(request)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """A watch that stays until its event is set."""
        if not self.takes(request):
            return await UNAUTHORIZED(request)
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        await answer.write(bookmark("9", ends_list="sendInitialEvents" in request.query))
        end = asyncio.Event()
        self.watches.append(end)
        self._watched.set()
        await end.wait()
        return answer

    async def watched(self, count: int) -> None:
        """Until so many watches were begun."""
        while len(self.watches) < count:
            self._watched.clear()
            await self._watched.wait()


@pytest.fixture
def tokens(server: FakeServer, tmp_path: Path, clock: ManualClock) -> Tokens:
    made = Tokens(tmp_path, clock)
    server.on("/version", made.version)
    server.on(PATH, made.stream)
    return made


async def breaks_of(session: ApiSession, times: int = AT_A_TIME) -> int:
    """How many of so many requests at a time are not answered with 200."""
    ends = await asyncio.gather(
        *(session.request("GET", "/version") for _ in range(times)), return_exceptions=True
    )
    return sum(isinstance(end, BaseException) or end.status != 200 for end in ends)


# ---- plugins


@pytest.mark.row(21, "renewals", least=1_000, unit="cases")
@pytest.mark.row(21, "visible breaks", most=0)
@pytest.mark.row(21, "runs of the plugin for a renewal", most=1)
@pytest.mark.row(21, "share of its life at which a token is renewed", least=0.78, most=0.82)
@pytest.mark.row(21, "tries of a request that was refused", most=2)
async def test_a_token_that_ends_again_and_again_breaks_nothing(
    server: FakeServer, tokens: Tokens, tmp_path: Path, clock: ManualClock, figure: Tell
) -> None:
    """Five requests at a time, and a watch that is renewed now and then.

    Of ten tokens one dies early, and one ends while nothing is asked: then all five wait for the renewal.
    """
    tokens.issue()
    path = kubeconfig(tmp_path, server.url, user=tokens.plugin())
    session = await open_session(SessionOptions(kubeconfig=path), clock)
    watcher = Watcher(session, clock)
    watching = asyncio.create_task(watcher.reflector.run())
    await tokens.watched(1)
    broken = 0
    for number in range(1, RENEWALS + 1):
        runs, began_seconds = tokens.runs, clock.now()
        clock.advance(0.75 * LIFE_SECONDS)
        broken += await breaks_of(session)
        assert (tokens.runs, tokens.refused) == (runs, 0), "it is good, and not near its end"
        if number % 10 == 5:
            clock.advance(LIFE_SECONDS)
            tokens.issue()
            broken += await breaks_of(session)
        elif number % 10 == 0:
            tokens.ends_seconds.clear()
            tokens.issue()
            sent = server.count("/version")
            broken += await breaks_of(session)
            figure("tries of a request that was refused", (server.count("/version") - sent) / AT_A_TIME)
            tokens.refused = 0
        else:
            clock.advance(0.051 * LIFE_SECONDS)
            tokens.issue()
            broken += await breaks_of(session)
            share = (clock.now() - began_seconds) / LIFE_SECONDS
            figure("share of its life at which a token is renewed", share if tokens.runs > runs else 1.0)
        figure("runs of the plugin for a renewal", tokens.runs - runs)
        if number % 5 == 0:
            tokens.watches[-1].set()
            await tokens.watched(1 + number // 5)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    await session.close()
    told = {Phase.NOT_LOGGED_IN, Phase.BACKING_OFF, Phase.DENIED, Phase.ABSENT} & set(watcher.phases)
    figure("renewals", tokens.issued - 1)
    figure("visible breaks", broken + tokens.refused + len(told))


async def test_a_plugin_asks_a_person_once_what_it_gave_has_ended(
    server: FakeServer, tokens: Tokens, tmp_path: Path, clock: ManualClock
) -> None:
    """While it is still good the screens stay; a request that comes after its end brings the question."""
    tokens.issue()
    user = tokens.plugin()
    user["exec"]["interactiveMode"] = "IfAvailable"
    script = tmp_path / "plugin"
    asks = 'case "$KUBERNETES_EXEC_INFO" in *\'"interactive": true\'*) ;; *) exit 5;; esac\n'
    script.write_text(script.read_text().replace("\n", f"\n{asks}", 1))
    lender = Lender(is_taken=False)
    options = SessionOptions(kubeconfig=kubeconfig(tmp_path, server.url, user=user), logins=Logins(lender))
    session = await open_session(options, clock)
    lender.is_taken = True
    clock.advance(0.9 * LIFE_SECONDS)
    assert await breaks_of(session) == 0
    assert len(lender.lent) == 1
    clock.advance(31.0)
    tokens.issue()
    assert await breaks_of(session) == 0
    assert len(lender.lent) == 2
    await session.close()


# ---- an identity provider that refuses


@pytest.mark.row(24, "tries in any 30 s", most=1)
@pytest.mark.row(24, "requests that ask to log in again, of all that fail", least=1.0)
@pytest.mark.row(24, "tries by choosing the context again", least=1)
@pytest.mark.parametrize("secret", ["", "s"])
async def test_a_provider_that_refuses_is_left_in_peace(
    server: FakeServer, tmp_path: Path, clock: ManualClock, secret: str, figure: Tell
) -> None:
    """Two requests a second for minutes after the login ended."""
    tries: list[float] = []

    async def where(request: web.Request) -> web.StreamResponse:
        tries.append(clock.now())
        return await reply({"token_endpoint": f"{issuer.url}/token"})(request)

    async with serving(FakeServer()) as issuer:
        issuer.on("/.well-known/openid-configuration", where)
        issuer.on("/token", reply({"error": "invalid_grant", "error_description": "session ended"}, 400))
        config = {"id-token": jwt(clock.now() + 100), **({"client-secret": secret} if secret else {})}
        path = kubeconfig(tmp_path, server.url, user=oidc_user(issuer, **config))
        session = await open_session(SessionOptions(kubeconfig=path), clock)
        clock.advance(100)
        tries.clear()
        said: list[str] = []
        for _ in range(PATIENCE):
            clock.advance(1)
            ends = await asyncio.gather(
                *(session.request("GET", "/version") for _ in range(2)), return_exceptions=True
            )
            said += [str(end) for end in ends]
        await session.close()
        figure("tries in any 30 s", max(sum(0 <= at - one < 30 for at in tries) for one in tries))
        asked = sum("does not renew the login (session ended); log in again" in words for words in said)
        figure("requests that ask to log in again, of all that fail", asked / len(said))
        count = len(tries)
        with pytest.raises(LoginExpired):
            await open_session(SessionOptions(kubeconfig=path), clock)
        figure("tries by choosing the context again", len(tries) - count)


# ---- token files


Open = Callable[[Path], Awaitable[ApiSession]]


@pytest.fixture(params=["of a kubeconfig", "of a pod"])
def opening(
    request: pytest.FixtureRequest, server: FakeServer, tmp_path: Path, clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> Open:  # fmt: skip
    """A session by a token file: one that a kubeconfig names, or the service account's of a pod."""

    def in_cluster(configuration: Any, **_options: Any) -> None:
        configuration.host = server.url

    async def opened(file: Path) -> ApiSession:
        if request.param == "of a kubeconfig":
            path = kubeconfig(tmp_path, server.url, user={"tokenFile": str(file)})
            return await open_session(SessionOptions(kubeconfig=path), clock)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setattr(credentials, "load_incluster_config", in_cluster)
        monkeypatch.setattr(credentials, "SERVICE_TOKEN_FILENAME", str(file))
        return await open_session(SessionOptions(), clock)

    return opened


@pytest.mark.row(25, "taken after", most=60, unit="s")
@pytest.mark.row(25, "401 shown", most=0)
@pytest.mark.parametrize("is_early", [False, True], ids=["in time", "after the old one was revoked"])
async def test_a_token_file_that_is_rotated_is_taken(
    server: FakeServer, tokens: Tokens, opening: Open, tmp_path: Path, clock: ManualClock,
    is_early: bool, figure: Tell,
) -> None:  # fmt: skip
    """A kubelet writes the next token at 80 % of the life of one; an admin may revoke the old one at once."""
    file = tmp_path / "token"
    file.write_text(tokens.issue(3600.0))
    session = await opening(file)
    shown, taken = 0, None
    for minute in range(5):
        clock.advance(2880.0 + 7.0 * minute)
        shown += await breaks_of(session, 1)
        old, new = f"t-{tokens.issued}", tokens.issue(3600.0)
        file.write_text("")  # a writer that does not rename begins with nothing
        shown += await breaks_of(session, 1)
        file.write_text(new)
        if is_early:
            del tokens.ends_seconds[old]
        taken = None
        for second in range(120):
            shown += await breaks_of(session, 1)
            if taken is None and server.seen[-1].headers["Authorization"] == f"Bearer {new}":
                taken = second
            clock.advance(1.0)
        assert taken is not None
        figure("taken after", taken)
    await session.close()
    figure("401 shown", shown)
