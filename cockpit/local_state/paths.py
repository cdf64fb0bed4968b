"""Where files of the cockpit live, and how they are written: 0600, in one step."""

import contextlib
import errno
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from cockpit.errors import BadInput
from cockpit.local_state.folders import config_folder_name, state_folder_name

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_NAMELESS = os.O_WRONLY | os.O_CLOEXEC | getattr(os, "O_TMPFILE", os.O_DIRECTORY)


def config_folder(environment: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME/gpu-cockpit`, else `~/.config/gpu-cockpit`."""
    return Path(config_folder_name(environment))


def state_folder(environment: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/gpu-cockpit`, else `~/.local/state/gpu-cockpit`: audit lines, choices, logs."""
    return Path(state_folder_name(environment))


def make_private_folder(folder: Path) -> Path:
    """Make the folder (0700) where it is missing. Raises BadInput with a sentence when that cannot be."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be created: {error.strerror}; set XDG_STATE_HOME to another folder"
        ) from None
    return folder


def write_private(path: Path, text: str) -> None:
    """Replace the file by `text` in one step, 0600. Raises OSError."""
    make_private_folder(path.parent)
    write_whole(path, text.encode("utf-8"), 0o600)


def write_whole(path: Path, data: bytes, mode: int) -> None:
    """Replace the file by `data` in one step and wait until it is on the disk. Raises OSError.

    It is written without a name where the system can (O_TMPFILE, open(2)), so that a process that is killed
    leaves no part of it. What one left that died between its last two steps goes with the next write.
    """
    ours = f".{path.name}.{socket.gethostname()}-"
    _remove_left(path.parent, ours)
    beside = path.with_name(f"{ours}{os.getpid()}")
    try:
        handle, is_nameless = os.open(path.parent, _NAMELESS, 0o600), True
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            raise
        handle, is_nameless = os.open(beside, _NEW, 0o600), False
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if is_nameless:
                if _has_linked(file.fileno(), path):
                    return
                _link(file.fileno(), beside)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise


def _has_linked(handle: int, path: Path) -> bool:
    """Whether the file without a name has got this one, which was free."""
    try:
        _link(handle, path)
    except FileExistsError:
        return False
    return True


def _link(handle: int, path: Path) -> None:
    """Give a file without a name this one. Raises OSError."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # only with a folder Python asks the kernel to follow the link of /proc
        os.link(f"/proc/self/fd/{handle}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _remove_left(folder: Path, ours: str) -> None:
    """What other processes of this host began to put there and did not live to."""
    for name in os.listdir(folder):
        number = name.removeprefix(ours)
        if name.startswith(ours) and number.isdecimal():
            with contextlib.suppress(OSError):
                os.kill(int(number), 0)
                continue
            with contextlib.suppress(OSError):
                os.unlink(folder / name)
