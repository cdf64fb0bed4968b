"""The audit log: a line for each request for a resource, never with a body."""

import os
from pathlib import Path
from typing import IO

import msgspec

from cockpit.clock import Clock
from cockpit.sim.port import Tree
from cockpit.sim.server.http.target import RequestTarget
from cockpit.sim.server.request import User
from cockpit.sim.times import rfc3339_micro

_MOST_BYTES = 32 * 1024 * 1024


class AuditEvent(msgspec.Struct, frozen=True):
    """What is told of one request. `code` is the status of its answer, 499 when nobody waited for one."""

    audit_id: str
    target: RequestTarget
    user: User | None
    acting_as: User | None
    """The user that it impersonates; None for most."""
    uri: str
    agent: str
    address: str
    code: int
    began_seconds: float


class ServerAuditLog:
    """Lines of `audit.k8s.io/v1` at level Metadata in a file of 0600; one older file is kept as NAME.1."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._file: IO[bytes] | None = self._open()
        self._bytes = self._file.tell()

    def _open(self) -> IO[bytes]:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        file = os.fdopen(descriptor, "ab", buffering=0)
        file.seek(0, os.SEEK_END)
        return file

    def write(self, entry: AuditEvent) -> None:
        """One line about a request that has been answered."""
        if self._file is None:
            return
        user = entry.user
        line: Tree = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": entry.audit_id,
            "stage": "ResponseComplete",
            "requestURI": entry.uri,
            "verb": entry.target.verb,
            "user": _told(user) if user else {},
            "sourceIPs": [entry.address],
            "userAgent": entry.agent,
            "objectRef": _reference(entry.target),
            "responseStatus": {"metadata": {}, "code": entry.code},
            "requestReceivedTimestamp": rfc3339_micro(entry.began_seconds),
            "stageTimestamp": rfc3339_micro(self._clock.now()),
        }
        if entry.acting_as is not None:
            line["impersonatedUser"] = _told(entry.acting_as)
        data = msgspec.json.encode(line) + b"\n"
        if self._bytes + len(data) > _MOST_BYTES:
            self._turn()
        self._file.write(data)
        self._bytes += len(data)

    def close(self) -> None:
        """Ends the log; later lines are dropped."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _turn(self) -> None:
        if self._file is not None:
            self._file.close()
        self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        self._file, self._bytes = self._open(), 0


def _told(user: User) -> Tree:
    return {"username": user.name, "groups": list(user.groups)}


def _reference(target: RequestTarget) -> Tree:
    told = {
        "resource": target.plural,
        "namespace": target.namespace,
        "name": target.name,
        "apiGroup": target.group,
        "apiVersion": target.version,
        "subresource": target.subresource,
    }
    return {key: value for key, value in told.items() if value}
