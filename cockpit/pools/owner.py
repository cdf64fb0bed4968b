"""The one shape that each pool owner answers with: may its size be changed from here, and within what."""

import msgspec


class Ownership(msgspec.Struct, frozen=True):
    """What an owner says about the size of its pool.

    `why_not` is one sentence that names who decides the size instead, "" when it may be changed from here.
    """

    why_not: str = ""
    minimum: int | None = None
    maximum: int | None = None
