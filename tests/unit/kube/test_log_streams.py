"""Where one stream of a log alone can be had, and what is asked for then."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cockpit.errors import Refused
from cockpit.kube.log_fan_in import query_of
from cockpit.kube.log_lines import Resume
from cockpit.kube.log_streams import refuse_unsplit
from cockpit.kube.session import ApiSession
from cockpit.model.log import LogSource, LogWish

SOURCE = LogSource(uid="u", namespace="a", pod="p", label="rank 0", container="main")


class Server:
    """Tells a version, then answers the log in one way."""

    def __init__(self, version: Any, status: int = 200, message: str = "") -> None:
        self.version, self.status, self.message = version, status, message
        self.asked: list[tuple[str, dict[str, str]]] = []

    async def request(self, _method: str, path: str, *, query: Any = (), accept: str = "") -> Any:
        self.asked.append((path, dict(query)))
        if path == "/version":
            return SimpleNamespace(ok=self.version is not None, json=lambda: self.version)
        return SimpleNamespace(ok=self.status < 300, status=self.status, message=lambda: self.message)


def version(major: str, minor: str) -> dict[str, str]:
    return {"major": major, "minor": minor}


async def ask(server: Server) -> None:
    await refuse_unsplit(cast(ApiSession, server), SOURCE)


async def test_a_server_that_would_overlook_the_parameter_is_not_asked() -> None:
    server = Server(version("1", "31+"))
    with pytest.raises(Refused, match=r"this server is 1\.31: .* need 1\.32;"):
        await ask(server)
    assert [path for path, _ in server.asked] == ["/version"]


@pytest.mark.parametrize("told", [version("1", "32"), version("1", "36+"), version("2", "0"), None, {}, "x"])
async def test_others_are_asked_for_a_byte(told: Any) -> None:
    server = Server(told)
    await ask(server)
    path, query = server.asked[-1]
    assert path == "/api/v1/namespaces/a/pods/p/log"
    assert (query["stream"], query["limitBytes"], query["container"]) == ("Stderr", "1", "main")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (422, 'PodLogOptions "p" is invalid: stream: Forbidden: may not be specified'),
        (400, 'unable to return the given log stream: "Stderr". Please enable PodLogsQuerySplitStreams'),
    ],
)
async def test_a_gate_that_is_off_is_one_sentence(status: int, message: str) -> None:
    with pytest.raises(Refused, match="feature gate PodLogsQuerySplitStreams is off"):
        await ask(Server(version("1", "36"), status, message))


async def test_a_log_that_cannot_be_read_at_all_is_not_the_streams_fault() -> None:
    await ask(Server(version("1", "36"), 400, 'container "main" is waiting to start'))
    await ask(Server(version("1", "36"), 404, 'pods "p" not found'))


def test_what_is_asked_for() -> None:
    def asked(resume: Resume | None = None, **wish: Any) -> dict[str, str]:
        return dict(query_of(SOURCE, LogWish(**wish), resume or Resume()))

    both = asked(tail_lines=20)
    assert both["tailLines"] == "20" and "stream" not in both and "sinceSeconds" not in both
    alone = asked(tail_lines=20, stream="stderr")
    assert (alone["stream"], alone["sinceSeconds"]) == ("Stderr", "3600") and "tailLines" not in alone
    assert asked(since_seconds=60, stream="stdout")["sinceSeconds"] == "60"
    former = asked(is_previous=True, stream="stderr")
    assert former["previous"] == "true" and "sinceSeconds" not in former
