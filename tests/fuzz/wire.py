"""A client that sends what it is told, byte for byte, and leaves sockets as it likes."""

import base64
import gzip
import http.client
import io
import socket
import ssl
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import msgspec
import yaml

from tests.fuzz.sent import Sent

PATIENCE_SECONDS = 60.0


class Answer(msgspec.Struct):
    """What came back."""

    status: int
    content_type: str
    body: bytes
    is_last: bool = False
    """Its connection ends with it."""


def read_answer(stream: socket.socket, method: str) -> Answer:
    """One answer off `stream`, unpacked. Raises OSError and http.client.HTTPException."""
    response = http.client.HTTPResponse(stream, method=method)
    response.begin()
    body = response.read()
    if body and response.headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    is_last = response.will_close or response.headers.get("Connection", "").lower() == "close"
    return Answer(response.status, response.headers.get("Content-Type", ""), body, is_last)


class Client:
    """One connection that is kept, and many that are not."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._tls = ssl.create_default_context(cadata=authority)
        place = urlsplit(cluster["server"])
        self._host, self._port = str(place.hostname), int(place.port or 0)
        self.tokens = {one["name"]: one["user"].get("token", "") for one in config["users"]}
        self._socket: ssl.SSLSocket | None = None
        self.left_open: list[socket.socket] = []

    def raw(self) -> socket.socket:
        """A connection without TLS."""
        return socket.create_connection((self._host, self._port), timeout=PATIENCE_SECONDS)

    def connect(self) -> ssl.SSLSocket:
        """A connection of its own."""
        return self._tls.wrap_socket(self.raw(), server_hostname=self._host)

    def ask(self, sent: Sent) -> Answer:
        """The answer to one request, unpacked. Raises OSError where the server cuts off the connection."""
        data = self.bytes_of(sent)
        for is_last in (False, True):
            is_fresh = self._socket is None
            if self._socket is None:
                self._socket = self.connect()
            try:
                self._socket.sendall(data)
                return self._read(sent.method)
            except (OSError, http.client.HTTPException):
                self.drop()
                if is_last or is_fresh:
                    raise
        raise AssertionError("unreachable")

    def drop(self) -> None:
        """The kept connection is no more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def bytes_of(self, sent: Sent) -> bytes:
        """A request as it goes over the wire."""
        headers = [("Host", "127.0.0.1"), *sent.headers, ("Content-Length", str(len(sent.body)))]
        if sent.user:
            headers.append(("Authorization", f"Bearer {self.tokens.get(sent.user, sent.user)}"))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers)
        return f"{sent.method} {sent.path} HTTP/1.1\r\n{head}\r\n".encode() + sent.body

    def _read(self, method: str) -> Answer:
        if self._socket is None:
            raise OSError("there is no connection")
        answer = read_answer(self._socket, method)
        if answer.is_last:
            self.drop()
        return answer

    def mischief(self, dice: Random) -> None:
        """Something that is no request, or only half of one; some sockets stay open without being read."""
        kind = dice.randrange(7)
        try:
            if kind < 2:
                one: Any = self.raw()
                one.sendall(
                    dice.choice((b"", b"GET / HTTP/1.1\r\n\r\n", dice.randbytes(300), b"\x16\x03\x01\x00"))
                )
            else:
                one = self.connect()
                one.sendall(self._oddity(dice, kind))
        except OSError:
            return
        self.left_open.append(one)
        if len(self.left_open) > 60:
            self.left_open.pop(dice.randrange(60)).close()

    def _oddity(self, dice: Random, kind: int) -> bytes:
        token = f"Authorization: Bearer {self.tokens['admin']}\r\n"
        plural = dice.choice(("api/v1/pods", "api/v1/configmaps", "api/v1/events", "apis/batch/v1/jobs"))
        if kind == 2:
            options = dice.choice(
                ("", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "&resourceVersion=1")
            )
            return f"GET /{plural}?watch=1{options} HTTP/1.1\r\nHost: x\r\n{token}\r\n".encode()
        if kind == 3:
            return (
                f"POST /{plural} HTTP/1.1\r\nHost: x\r\n{token}Content-Length: 3000000\r\n\r\n{{".encode()
                + b" " * 90_000
            )
        if kind == 4:
            return b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * dice.choice((10, 9000, 100_000))
        if kind == 5:
            return f"GET /{plural} HTTP/1.1\r\nHost: x\r\n{token}\r\n".encode() * 20
        return dice.choice(
            (
                b"GET / HTTP/9.9\r\n\r\n",
                b"GET  /  HTTP/1.1\r\nHost\r\n\r\n",
                b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\nx",
                b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                b"\r\n" * 1000,
                b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
                b"GET http://example.invalid/ HTTP/1.1\r\nHost: x\r\n\r\n",
                b"CONNECT example.invalid:443 HTTP/1.1\r\nHost: x\r\n\r\n",
                b"GET / HTTP/1.1\r\n" + b"".join(b"A%d: b\r\n" % at for at in range(2000)) + b"\r\n",
                dice.randbytes(500),
            )
        )

    def close(self) -> None:
        """Nothing stays open."""
        self.drop()
        for one in self.left_open:
            one.close()


def is_json(answer: Answer) -> bool:
    """Whether it says that it is JSON."""
    return "json" in answer.content_type


def lines_of(data: bytes) -> list[str]:
    """The lines of a text, for a report."""
    return list(io.StringIO(data.decode("utf-8", "replace")))
