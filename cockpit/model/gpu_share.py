"""A part of a GPU, asked for where a scheduler divides cards."""

from collections.abc import Iterable

import msgspec


class GpuShare(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A share that a pod asks for by annotation, of each of `devices`: of time and memory (`fraction`, 0..1),
    or of memory alone. The one that is not asked for is None."""

    fraction: float | None = None
    memory_bytes: int | None = None
    devices: int = 1


def sum_of_shares(shares: Iterable[GpuShare | None]) -> GpuShare | None:
    """What pods ask for together, of one device; None where none of them asks for a share."""
    known = [share for share in shares if share is not None]
    fractions = [share.fraction * share.devices for share in known if share.fraction is not None]
    sizes = [share.memory_bytes * share.devices for share in known if share.memory_bytes is not None]
    if not known:
        return None
    return GpuShare(
        fraction=sum(fractions) if fractions else None, memory_bytes=sum(sizes) if sizes else None
    )
