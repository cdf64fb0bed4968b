"""How long a client certificate is valid, read from its PEM (RFC 5280, section 4.1) without a library for it.

TLS tells only that a server refused a certificate; which one it was and since when stands in the certificate.
"""

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import msgspec

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_VERSION, _UTC_TIME = 0xA0, 0x17


class Validity(msgspec.Struct, frozen=True):
    """Epoch seconds between which a certificate is valid."""

    begins_seconds: float
    ends_seconds: float


def validity_of(pem: str) -> Validity | None:
    """Of the first certificate in the text, which is the one that is presented; None where it is no X.509."""
    begin = pem.find(_BEGIN)
    end = pem.find(_END, begin)
    if begin < 0 or end < 0:
        return None
    try:
        der = ssl.PEM_cert_to_DER_cert(pem[begin : end + len(_END)])
        certificate = next(_parts(der))[1]
        fields = list(_parts(next(_parts(certificate))[1]))
        if fields[0][0] == _VERSION:
            del fields[0]
        begins, ends = _parts(fields[3][1])  # after serial number, signature and issuer
        return Validity(_seconds(*begins), _seconds(*ends))
    except (ValueError, IndexError, StopIteration):
        return None


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and content of each value in DER. Raises IndexError or ValueError where it is cut."""
    at = 0
    while at < len(data):
        tag, length = data[at], data[at + 1]
        at += 2
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(data[at : at + count], "big")
            at += count
        if at + length > len(data):
            raise ValueError("a value is longer than its container")
        yield tag, data[at : at + length]
        at += length


def _seconds(tag: int, text: bytes) -> float:
    """A UTCTime (two digits of the year, from 1950) or a GeneralizedTime."""
    digits = text.decode("ascii").rstrip("Z")
    if tag == _UTC_TIME:
        digits = ("19" if int(digits[:2]) >= 50 else "20") + digits
    return datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()


# ---- keys and certificates as files


class SecretFiles:
    """`with SecretFiles() as files`: what was put is there as long as the block."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._folder = ""

    def __enter__(self) -> Self:
        self._token = _IN_FORCE.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _IN_FORCE.reset(self._token)
        self._stack.close()

    def put(self, content: str | bytes) -> str:
        """The path under which this process reads the content. Raises OSError."""
        data = content.encode() if isinstance(content, str) else content
        handle, path = self._new()
        with os.fdopen(os.dup(handle), "wb") as file:
            file.write(data)
        return path

    def _new(self) -> tuple[int, str]:
        if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
            handle = os.memfd_create("gpu-cockpit", os.MFD_CLOEXEC)
            path = f"/proc/self/fd/{handle}"
        else:
            self._folder = self._folder or self._stack.enter_context(
                tempfile.TemporaryDirectory(prefix="gpu-cockpit-")
            )
            handle, path = tempfile.mkstemp(dir=self._folder)
        self._stack.callback(os.close, handle)
        return handle, path


_IN_FORCE: ContextVar[SecretFiles] = ContextVar("secret_files")


def keep_for_loader(content: str | bytes, *_: Any, **__: Any) -> str:
    """What stands for the function by which kubernetes.aio's loader makes its temporary files."""
    return _IN_FORCE.get().put(content)
