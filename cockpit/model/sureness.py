"""How a cause is known: what every verdict says of itself, of a gang's engine as of the whole."""

from enum import StrEnum


class Sureness(StrEnum):
    """How a cause is known."""

    PROVED = "proved by numbers"  # computed here from what the cluster holds
    SAID = "said by a component"  # its text or reason was understood
    INFERRED = "inferred"  # not reported: the best explanation of what is seen
    UNKNOWN = "unknown"  # something is wrong; what is seen does not tell what
