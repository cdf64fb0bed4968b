from collections.abc import Callable, Mapping
from typing import Any

PodParts = tuple[bytes | None, bytes, bytes, str, str, bytes]
Read = Callable[[bytes, PodParts], Any]
Names = tuple[bytes, bytes, bytes, bytes]

class Members:
    def __new__(
        cls,
        names: Names,
        record: type[Any],
        words: Mapping[str, str],
        moments: Mapping[bytes, Any],
        seats: Mapping[bytes, Any],
        kept: int,
        /,
    ) -> Members: ...
    def one(self, raw: bytes, read: Read, /) -> Any | None: ...
    def run(
        self, data: bytes, at: int, most: int, longest_bytes: int, read: Read, /
    ) -> tuple[list[Any], int]: ...

def node(
    raw: bytes, names: Names, labels: Mapping[bytes, tuple[str, str]], /
) -> (
    tuple[bytes, str, str, str, str, str, bytes, bytes, bytes, bytes, tuple[tuple[str, str], ...]] | None
): ...
def opened(frame: bytes) -> tuple[str, bytes] | None: ...
def unchunked(data: bytes | bytearray, at: int, end: int, left: int, /) -> tuple[bytes, int, int]: ...
