"""Which log of which container is asked for, and how its lines are told.

Sources: Kubernetes 1.36 pkg/kubelet/kubelet_pods.go (validateContainerLogStatus: the sentences of the
refusals), pkg/kubelet/kuberuntime/logs (options, bytes, timestamps).
"""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime

import msgspec

from cockpit.sim.actors.kubelet.runs import ContainerRun, PodRun, Stage
from cockpit.sim.actors.kubelet.runtime import ContainerLogLine, Log
from cockpit.sim.times import seconds_of

_PIECE_BYTES = 64 << 10


class NoLog(Exception):
    """The refusal's sentence."""


class LogOptions(msgspec.Struct, frozen=True):
    """`PodLogOptions`, as far as a kubelet cares."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    since_seconds: float | None = None
    since_time: float | None = None
    limit_bytes: int | None = None
    stream: str = "All"


def options_from(query: Mapping[str, str]) -> LogOptions:
    """Options of a query. Raises ValueError for what cannot be read or is not allowed."""
    tail, limit = _count(query.get("tailLines"), 0), _count(query.get("limitBytes"), 1)
    since = _count(query.get("sinceSeconds"), 1)
    at = query.get("sinceTime")
    return LogOptions(
        follow=_flag(query.get("follow")),
        previous=_flag(query.get("previous")),
        timestamps=_flag(query.get("timestamps")),
        tail=tail,
        since_seconds=since,
        since_time=seconds_of(at) if at else None,
        limit_bytes=limit,
        stream=query.get("stream") or "All",
    )


def _flag(text: str | None) -> bool:
    return (text or "").lower() in ("1", "t", "true")


def _count(text: str | None, least: int) -> int | None:
    if text is None or text == "":
        return None
    value = int(text)
    if value < least:
        raise ValueError(text)
    return value


def find_log(run: PodRun, one: ContainerRun, *, previous: bool) -> Log:
    """The log of the container's current (or previous) run. Raises NoLog."""
    where = f'container "{one.name}" in pod "{run.name}"'
    if previous:
        if one.last is None or not one.logs:
            raise NoLog(f'previous terminated container "{one.name}" in pod "{run.name}" not found')
        has_newer = one.stage is Stage.RUNNING or one.terminated is not None
        if has_newer and len(one.logs) < 2:
            raise NoLog(f'previous terminated container "{one.name}" in pod "{run.name}" not found')
        return one.logs[-2] if has_newer else one.logs[-1]
    if one.logs:
        return one.logs[-1]
    if one.terminated is not None:
        raise NoLog(f"{where} is terminated")
    match one.reason:
        case "ErrImagePull":
            raise NoLog(f"{where} is waiting to start: image can't be pulled")
        case "ImagePullBackOff":
            raise NoLog(f"{where} is waiting to start: trying and failing to pull image")
    first = any(other.kind != "main" for other in run.containers)
    reason = one.reason or ("PodInitializing" if first else "ContainerCreating")
    raise NoLog(f"{where} is waiting to start: {reason}")


async def told(log: Log, options: LogOptions, now: float) -> AsyncIterator[bytes]:
    """The log as bytes, in pieces; with `follow` until the container has ended."""
    since = options.since_time or 0.0
    if options.since_seconds is not None:
        since = now - options.since_seconds
    left = options.limit_bytes
    later = log.follow(now) if options.follow else None
    piece = bytearray()
    for line in log.lines(since=since, tail=options.tail, now=now):
        piece += _told(line, options)
        if len(piece) >= _PIECE_BYTES:
            if left is not None and len(piece) >= left:
                break
            yield bytes(piece)
            left = None if left is None else left - len(piece)
            piece.clear()
    if left is not None and len(piece) >= left:
        yield bytes(piece[:left])
        return
    if piece:
        yield bytes(piece)
        left = None if left is None else left - len(piece)
    if later is None:
        return
    async for line in later:
        data = _told(line, options)
        if left is not None and len(data) >= left:
            yield data[:left]
            return
        left = None if left is None else left - len(data)
        if data:
            yield data


def _told(line: ContainerLogLine, options: LogOptions) -> bytes:
    if options.stream != "All" and options.stream.lower() != line.stream:
        return b""
    end = b"" if line.is_partial else b"\n"
    if not options.timestamps:
        return line.text + end
    return _nanoseconds(line.at).encode() + b" " + line.text + end


def _nanoseconds(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"
