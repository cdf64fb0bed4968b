"""What was sent of findings and what is still to be sent, on disk before it is sent.

A change of a finding (new, acknowledged, resolved) is written, then sent to each receiver, then written as
sent. A process that is killed between the last two sends it once more, under the same key.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from cockpit.errors import BadInput
from cockpit.local_state.paths import write_private

Event = Literal["new", "acknowledged", "resolved"]
MOST_WAITING: Final = 10_000
"""Changes that wait for receivers; of more the oldest that is superseded is dropped."""


Items = Mapping[str, tuple[dict[str, Any], bool]]
"""Findings by key: the item, and whether it is acknowledged."""


class FindingChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a finding. `key` is the same for each attempt; `item` is a `FindingItem` of
    `cockpit triage -o json`; `first_seconds` and `at_seconds` are epoch seconds."""

    key: str
    finding_key: str
    event: Event
    context: str
    first_seconds: float
    at_seconds: float
    item: dict[str, Any]


class _Open(msgspec.Struct, frozen=True, kw_only=True):
    first_seconds: float
    is_acknowledged: bool
    item: dict[str, Any]


class _Waiting(msgspec.Struct, frozen=True, kw_only=True):
    change: FindingChange
    receivers: tuple[str, ...]


class _Kept(msgspec.Struct, kw_only=True):
    open: dict[str, _Open] = {}
    waiting: list[_Waiting] = []


class Outbox:
    """The findings of one cluster. Raises BadInput where its file cannot be used."""

    def __init__(self, path: Path, context: str, receivers: tuple[str, ...]) -> None:
        self._path, self._context, self._receivers = path, context, receivers
        try:
            self._kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            self._kept = _Kept()
        except (OSError, msgspec.DecodeError) as error:
            raise BadInput(f"{path}: cannot be used: {error}; move it away to begin again") from None
        left = (_only(item, receivers) for item in self._kept.waiting)
        self._kept.waiting = [item for item in left if item.receivers]

    def look(self, items: Items, now_seconds: float, *, is_gone: Callable[[Mapping[str, Any]], bool]) -> None:
        """Note what changed, from the findings now. `is_gone` says of the item of one that is missing whether
        it would have been seen. Raises OSError."""
        changes: list[FindingChange] = []
        opened = dict(self._kept.open)
        for key, (item, is_acknowledged) in items.items():
            before = opened.get(key)
            first = now_seconds if before is None else before.first_seconds
            if before is None:
                changes.append(self._change(key, "new", first, now_seconds, item))
            if is_acknowledged and not (before is not None and before.is_acknowledged):
                changes.append(self._change(key, "acknowledged", first, now_seconds, item))
            was = before is not None and before.is_acknowledged
            opened[key] = _Open(first_seconds=first, is_acknowledged=is_acknowledged or was, item=item)
        for key in [key for key, was in opened.items() if key not in items and is_gone(was.item)]:
            gone = opened.pop(key)
            changes.append(self._change(key, "resolved", gone.first_seconds, now_seconds, gone.item))
        is_new = opened.keys() != self._kept.open.keys() or bool(changes)
        waiting = [
            *self._kept.waiting,
            *(_Waiting(change=item, receivers=self._receivers) for item in changes),
        ]
        self._kept = _Kept(open=opened, waiting=waiting[-MOST_WAITING:] if self._receivers else [])
        if is_new:
            self._write()

    def next_for(self, receiver: str) -> FindingChange | None:
        """The oldest change that the receiver has not got."""
        return next((item.change for item in self._kept.waiting if receiver in item.receivers), None)

    def sent(self, receiver: str, key: str) -> None:
        """The receiver has it. Raises OSError."""
        self._kept.waiting = [
            left
            for item in self._kept.waiting
            if (left := _without(item, receiver) if item.change.key == key else item).receivers
        ]
        self._write()

    def _change(
        self, finding_key: str, event: Event, first_seconds: float, now_seconds: float, item: dict[str, Any]
    ) -> FindingChange:
        identity = repr((self._context, finding_key, event, first_seconds)).encode()
        return FindingChange(
            key=hashlib.sha256(identity).hexdigest()[:32],
            finding_key=finding_key,
            event=event,
            context=self._context,
            first_seconds=first_seconds,
            at_seconds=now_seconds,
            item=item,
        )

    def _write(self) -> None:
        write_private(self._path, msgspec.json.encode(self._kept).decode())


def _only(item: _Waiting, receivers: Collection[str]) -> _Waiting:
    left = tuple(name for name in item.receivers if name in receivers)
    return _Waiting(change=item.change, receivers=left)


def _without(item: _Waiting, receiver: str) -> _Waiting:
    left = tuple(name for name in item.receivers if name != receiver)
    return _Waiting(change=item.change, receivers=left)
