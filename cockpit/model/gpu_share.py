"""A part of a GPU, asked for where a scheduler divides cards."""

import msgspec


class GpuShare(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A share that a pod asks for by annotation, of each of `devices`: of time and memory (`fraction`, 0..1),
    or of memory alone. The one that is not asked for is None."""

    fraction: float | None = None
    memory_bytes: int | None = None
    devices: int = 1
