"""The folder of one demo: kubeconfig, certificates, folders of pods. It goes with the demo, or with the next.

Whoever uses such a folder holds a lock in it, which the kernel takes back however its holder ends. A folder
whose lock nobody holds was left behind (SIGKILL, a machine that lost its power). Only folders of this user
with such a lock are ever removed, and no symbolic link is followed.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cockpit.errors import BadInput

PREFIX = "cockpit-demo-"
LOCK = ".in-use"


@contextlib.contextmanager
def fresh_folder() -> Iterator[Path]:
    """A new folder, in use while the block runs and gone after it. Raises BadInput where none can be made."""
    folder = None
    with contextlib.ExitStack() as stack:
        try:
            with _uninterrupted():
                folder = _made(stack)
            yield folder
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl+c waits: between the making of a folder and the note of its name nobody could remove it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, too, where it has one: it outlives whoever made it."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            _hold(folder / LOCK, os.O_RDWR, stack)
        yield


def remove_leftovers(parent: Path | None = None) -> list[Path]:
    """Remove what demos of this user left in `parent` (None: where temporary files go); answers what went."""
    try:
        found = sorted((parent or Path(tempfile.gettempdir())).glob(f"{PREFIX}*"))
    except OSError:
        return []
    return [one for one in found if _is_removed(one)]


def _made(stack: contextlib.ExitStack) -> Path:
    while True:
        try:
            folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        except OSError as error:
            raise BadInput(
                f"No folder can be made in {tempfile.gettempdir()}: {error.strerror}; give one by --folder."
            ) from None
        try:
            held = _hold(folder / LOCK, os.O_RDWR | os.O_CREAT, stack)
        except FileNotFoundError:
            continue
        except OSError:  # no locks on this file system: then nobody else removes it
            (folder / LOCK).unlink(missing_ok=True)
            return folder
        # between these two steps another demo may have taken it for a leftover
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(held), os.stat(folder / LOCK)):
                return folder


def _hold(lock: Path, flags: int, stack: contextlib.ExitStack) -> int:
    descriptor = os.open(lock, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    stack.callback(os.close, descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def _is_removed(path: Path) -> bool:
    """Remove the folder if it is ours, has a lock and nobody holds it. False where any of it is not so."""
    with contextlib.ExitStack() as stack:
        try:
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            stack.callback(os.close, folder)
            lock = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            stack.callback(os.close, lock)
            whose, what = os.fstat(folder), os.fstat(lock)
            if {whose.st_uid, what.st_uid} != {os.geteuid()} or not stat.S_ISREG(what.st_mode):
                return False
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.lstat(path), whose):
                return False
        except OSError:  # held, gone, a link, somebody else's
            return False
        shutil.rmtree(path, ignore_errors=True)
        return True
