"""Where built programs are kept, and the locks that keep two processes from building one twice.

The folder is per user: `$GPU_COCKPIT_CACHE`, else `$XDG_CACHE_HOME/gpu-cockpit`, else `~/.cache/gpu-cockpit`;
the bed owns `bed/` inside it.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


class BedError(Exception):
    """The bed cannot be built or started; the text is one sentence that names the remedy."""


def cache_root(environment: Mapping[str, str] | None = None) -> Path:
    """The bed's cache folder. Not created here."""
    env = os.environ if environment is None else environment
    if chosen := env.get("GPU_COCKPIT_CACHE"):
        return Path(chosen) / "bed"
    if chosen := env.get("XDG_CACHE_HOME"):
        return Path(chosen) / "gpu-cockpit" / "bed"
    return Path(env.get("HOME", "~")).expanduser() / ".cache" / "gpu-cockpit" / "bed"


def content_key(*parts: bytes) -> str:
    """16 hex digits that change with any byte of any part, and with where one part ends."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:16]


@contextmanager
def locked(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold an exclusive lock on `path`; the kernel drops it when the holder dies.

    `waiting` is called once when somebody else holds it, before blocking.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting is not None:
                waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
