"""The machine's certificate authorities, read by aiohttp only when somebody is checked by them.

`import aiohttp` makes two TLS contexts and reads every authority of the machine into both: a fifth of the
import's time (measured: 0.06 of 0.3 s). A cluster is checked by the authority in its kubeconfig, so as a rule
nobody ever asks those contexts. Modules of this room take `aiohttp` from here.
"""

import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

__all__ = ["aiohttp"]


class _ReadsLater(ssl.SSLContext):
    """A default context that reads the authorities before its first connection."""

    _has_read = False

    def wrap_bio(self, *given: Any, **named: Any) -> ssl.SSLObject:
        self._read()
        return super().wrap_bio(*given, **named)

    def wrap_socket(self, *given: Any, **named: Any) -> ssl.SSLSocket:
        self._read()
        return super().wrap_socket(*given, **named)

    def _read(self) -> None:
        if not self._has_read:
            self._has_read = True
            self.load_default_certs()


@contextmanager
def _read_later() -> Iterator[None]:
    """Contexts that this thread makes read the authorities later; those of other threads are left as they
    are."""
    mine = threading.get_ident()
    context, create, read = (
        ssl.SSLContext,
        ssl.create_default_context,
        ssl.SSLContext.set_default_verify_paths,
    )

    def create_unread(*given: Any, **named: Any) -> ssl.SSLContext:
        made = create(*given, **named)
        if threading.get_ident() == mine:
            made.__class__ = _ReadsLater
        return made

    def read_by_others(self: ssl.SSLContext) -> None:
        if threading.get_ident() != mine:
            read(self)

    ssl.create_default_context = create_unread
    context.set_default_verify_paths = read_by_others  # type: ignore[method-assign]
    try:
        yield
    finally:
        ssl.create_default_context = create
        del context.set_default_verify_paths


with nullcontext() if "aiohttp" in sys.modules else _read_later():
    import aiohttp
