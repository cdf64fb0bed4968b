"""Questions to AWS. The one place that knows boto3; nothing is imported before the first question.

Calls block, so they run in a daemon thread (`cockpit.daemon_thread`). The name of an operation tells a read
from a write; writes pass only where they are allowed, below every plan and screen.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from cockpit.clouds.errors import OutsideError
from cockpit.model.reach import Reach

WHO = "AWS"
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
PAUSES_SECONDS = (1.0, 2.0, 4.0)
"""Between tries of a call that AWS throttled: that one was not carried out."""
THROTTLED = frozenset(
    {
        *("Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException"),
        *("RequestLimitExceeded", "RequestThrottled", "RequestThrottledException", "SlowDown"),
    }
)
_READS = ("describe_", "list_", "get_")
_MOST_PAGES = 40


class Client(Protocol):
    """A client of boto3, or what a test puts in its place: operations are methods."""

    def __getattr__(self, operation: str, /) -> Any: ...


Connect = Callable[[str, Reach], Client]


def boto_client(service: str, reach: Reach) -> Client:
    """A client of boto3 by its usual configuration and credentials. Raises OutsideError."""
    try:
        import boto3
        from botocore.config import Config
    except ImportError:
        raise OutsideError(WHO, "NoBoto3", "boto3 is not installed") from None
    session = boto3.Session(profile_name=reach.profile or None, region_name=reach.region or None)
    # Tries are ours: a lost answer to a change is looked up, not repeated.
    patience = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=ANSWER_SECONDS,
        retries={"total_max_attempts": 1, "mode": "standard"},
        user_agent_extra="gpu-cockpit",
    )
    client: Client = session.client(service, config=patience)
    return client


class Aws:
    """Asks AWS for one pool. Blocks: for a thread."""

    def __init__(
        self,
        reach: Reach,
        *,
        may_write: bool = False,
        connect: Connect = boto_client,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._reach = reach
        self._may_write = may_write
        self._connect = connect
        self._sleep = sleep
        self._clients: dict[str, Client] = {}

    def ask(self, service: str, operation: str, /, **parameters: Any) -> Mapping[str, Any]:
        """The answer to one operation (`describe_nodegroup`). Raises OutsideError.

        A throttled one is tried again, a few times. One whose answer is lost is not: `is_lost` tells it of a
        change.
        """
        is_read = operation.startswith(_READS)
        if not is_read and not self._may_write:
            raise OutsideError(WHO, "ReadOnly", f"read-only: {operation} was not sent")
        for pause in (*PAUSES_SECONDS, None):
            try:
                answer: Mapping[str, Any] = getattr(self._client(service), operation)(**parameters)
            except OutsideError:
                raise
            except Exception as error:  # noqa: BLE001 - botocore's own classes are known only once it is loaded
                fault = _fault(error, is_read)
                if fault.code not in THROTTLED or pause is None:
                    raise fault from None
                self._sleep(pause)
            else:
                return answer
        raise AssertionError("the last try answers or raises")

    def pages(self, service: str, operation: str, field: str, /, **parameters: Any) -> Iterator[Any]:
        """What stands in `field` of every page."""
        for _ in range(_MOST_PAGES):
            answer = self.ask(service, operation, **parameters)
            yield from answer.get(field) or ()
            name = next((key for key in ("NextToken", "nextToken") if answer.get(key)), "")
            if not name:
                return
            parameters = {**parameters, name: answer[name]}

    def _client(self, service: str) -> Client:
        if service not in self._clients:
            self._clients[service] = self._connect(service, self._reach)
        return self._clients[service]


def _fault(error: Exception, is_read: bool) -> OutsideError:
    """What botocore raised, as data."""
    said = getattr(error, "response", None)
    if isinstance(said, Mapping):
        told = said.get("Error") or {}
        code, message = str(told.get("Code") or "Unknown"), str(told.get("Message") or error)
        status = (said.get("ResponseMetadata") or {}).get("HTTPStatusCode") or 0
        # AWS names what it refuses; a bare number is of a proxy, and where it throttled it did nothing.
        is_told = code in THROTTLED or (status < 500 and not code.isdigit() and code != "Unknown")
        return OutsideError(WHO, code, message, is_lost=not is_read and not is_told)
    if not type(error).__module__.startswith(("botocore", "boto3", "urllib3", "s3transfer")):
        raise error
    # What was never sent cannot have been done.
    lost = not is_read and type(error).__name__ in (
        *("ReadTimeoutError", "ConnectionClosedError", "HTTPClientError", "ResponseStreamingError"),
        *("IncompleteReadError", "ResponseParserError"),
    )
    return OutsideError(WHO, type(error).__name__, str(error), is_lost=lost)
