"""Basic authentication: who may scrape.

The file has a line `user:password` or `user:$scrypt$ln=12,r=8,p=1$SALT$HASH` for each user (the second as
made by `cockpit-exporter --hash-password`; salt and hash in base64). scrypt is in Python's standard library,
so bcrypt, which Prometheus' own web configuration wants, is not needed.
"""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import threading
from pathlib import Path

_HASHED = re.compile(
    r"\$scrypt\$ln=(?P<ln>\d{1,2}),r=(?P<r>\d{1,2}),p=(?P<p>\d{1,2})\$(?P<salt>[^$]+)\$(?P<hash>[^$]+)"
)
_LN, _R, _P = 12, 8, 1  # 4 MiB and about 10 ms a try
MOST_REMEMBERED = 64


class BadFile(Exception):
    """The file of users cannot be used; the message says which line and why."""


def hashed(password: str, salt: bytes) -> str:
    """The password as a line's second half."""
    found = hashlib.scrypt(password.encode(), salt=salt, n=2**_LN, r=_R, p=_P, dklen=32)
    written = (base64.b64encode(item).decode() for item in (salt, found))
    return f"$scrypt$ln={_LN},r={_R},p={_P}$" + "$".join(written)


def _is_password(told: str, password: str) -> bool:
    match = _HASHED.fullmatch(told)
    if match is None:
        return hmac.compare_digest(told.encode(), password.encode())
    salt, wanted = base64.b64decode(match["salt"]), base64.b64decode(match["hash"])
    n, r, p = 2 ** int(match["ln"]), int(match["r"]), int(match["p"])
    found = hashlib.scrypt(
        password.encode(), salt=salt, n=n, r=r, p=p, dklen=len(wanted), maxmem=256 * n * r + 2**20
    )
    return hmac.compare_digest(found, wanted)


def read_users(path: Path) -> dict[str, str]:
    """Passwords or their hashes by user. Raises BadFile."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise BadFile(f"{path} cannot be read: {problem}") from None
    users: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        user, colon, told = line.partition(":")
        if not colon or not user or not told:
            raise BadFile(f"{path} line {number} is not user:password")
        if told.startswith("$") and not _is_usable(told):
            raise BadFile(
                f"{path} line {number} has a hash that is not of the form $scrypt$ln=12,r=8,p=1$SALT$HASH"
            )
        users[user] = told
    if not users:
        raise BadFile(f"{path} names no user")
    return users


def _is_usable(told: str) -> bool:
    match = _HASHED.fullmatch(told)
    if match is None or not 1 <= int(match["ln"]) <= 16 or not 1 <= int(match["r"]) * int(match["p"]) <= 64:
        return False
    try:
        return bool(
            base64.b64decode(match["salt"], validate=True) and base64.b64decode(match["hash"], validate=True)
        )
    except binascii.Error:
        return False


class PasswordGate:
    """Says whether an Authorization header opens. Remembers good headers, so that hashing is done once."""

    def __init__(self, users: dict[str, str]) -> None:
        self._users = users
        self._key = secrets.token_bytes(32)
        self._good: set[bytes] = set()
        self._lock = threading.Lock()  # one try at a time: hashing takes memory
        self._nobody = hashed(secrets.token_hex(), secrets.token_bytes(16))

    def opens(self, header: str | None) -> bool:
        if not header or not header.lower().startswith("basic ") or len(header) > 4096:
            return False
        mark = hmac.digest(self._key, header.encode("utf-8", "surrogateescape"), "sha256")
        if mark in self._good:
            return True
        try:
            user, colon, password = (
                base64.b64decode(header[6:].strip(), validate=True).decode().partition(":")
            )
        except ValueError:
            return False
        with self._lock:
            # an unknown user costs as much as a known one
            is_right = _is_password(self._users.get(user, self._nobody), password)
            if not colon or user not in self._users or not is_right:
                return False
            if len(self._good) >= MOST_REMEMBERED:
                self._good.clear()
            self._good.add(mark)
        return True
