"""Keys and certificates that the ssl module takes from files alone: in memory, where no kill leaves them.

On Linux a file without a name (memfd_create(2)), read through /proc/self/fd; elsewhere a file in a private
folder, which is removed with the block.
"""

import contextlib
import os
import tempfile
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self


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
