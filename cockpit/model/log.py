"""Lines of container logs, and what is asked for when they are read."""

import msgspec


class LogSource(msgspec.Struct, frozen=True, gc=False):
    """One container whose log is read. `label` is what its lines begin with: a rank, or the pod's name."""

    uid: str  # of the pod
    namespace: str
    pod: str
    label: str
    container: str = ""
    rank: int | None = None
    is_leader: bool = False  # the launcher or master, which is no rank


class LogLine(msgspec.Struct, frozen=True, gc=False):
    """One line, cleaned. A note is a remark of the cockpit's own: a gap, a new run of the container."""

    source: LogSource
    text: str
    at_nanoseconds: int = 0  # when the runtime took it, since the epoch; 0 not told
    is_note: bool = False
    overwritten: tuple[str, ...] = ()  # what carriage returns in the line overwrote, in its order, cleaned

    @property
    def texts(self) -> tuple[str, ...]:
        """All that was written, in its order."""
        return (*self.overwritten, self.text)

    @property
    def at_seconds(self) -> float | None:
        """When the runtime took it; None where that was not told."""
        return self.at_nanoseconds / 1e9 if self.at_nanoseconds else None


class LogWish(msgspec.Struct, frozen=True):
    """How much of each log is wanted. `tail_lines` None: all that is kept on the node."""

    tail_lines: int | None = 200
    since_seconds: int | None = None
    is_previous: bool = False  # the run before the last restart; it has ended and is not followed
    is_following: bool = True
    stream: str = ""  # stdout or stderr alone, "" for both; then `tail_lines` cannot be asked for


STREAM_SINCE_SECONDS = 3_600
"""Default period read of a single stream: the server refuses a number of lines for it."""


class Life(msgspec.Struct, frozen=True, gc=False):
    """What the store knows of a pod while its log is read."""

    is_over: bool = False  # ended, or gone: no line will be added
    restarts: int = 0
