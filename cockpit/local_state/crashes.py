"""Reports of unexpected errors: files in the state folder, 0600, few and small.

A report holds the version, the kinds of the errors and where they were raised (file, line, function). It
holds no message and no value: both may quote a secret.
"""

import contextlib
import os
import platform
import re
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from cockpit import __version__
from cockpit.clock import Clock
from cockpit.errors import CockpitError, shortage_of
from cockpit.local_state.paths import make_private_folder, state_folder, write_private

MOST_REPORTS = 20
LARGEST_CHARACTERS = 32 * 1024
MOST_FRAMES = 60
_DEEPEST = 6
_FOLDER = "crashes"

Fingerprint = tuple[str, ...]


class Crashes:
    """Keeps reports in `folder` (the state folder), None for nowhere. One error at one place is kept once."""

    def __init__(self, folder: Path | None, clock: Clock) -> None:
        self._folder = folder / _FOLDER if folder is not None else None
        self._clock = clock
        self._known: dict[Fingerprint, str] = {}

    @classmethod
    def of_this_user(cls, clock: Clock) -> "Crashes":
        """Those in the state folder of the environment."""
        return cls(state_folder(os.environ), clock)

    def note(self, error: BaseException, where: str) -> str:
        """Keep a report; the sentence that says where it is. What the machine lacks needs no report."""
        if short := shortage_of(error):
            return f"{where}: {short}"
        fingerprint = (where, *_kinds(error), *_places(error)[-1:])
        sentence = self._known.get(fingerprint)
        if sentence is None:
            what = f"internal error in {where} ({type(error).__name__})"
            path = self._write(error, where)
            kept = f"report at {path}" if path is not None else "the report could not be written"
            sentence = self._known[fingerprint] = f"{what}: {kept}"
        return sentence

    def _write(self, error: BaseException, where: str) -> Path | None:
        if self._folder is None:
            return None
        when = datetime.fromtimestamp(self._clock.now(), UTC)
        name = re.sub(r"[^a-z0-9]+", "-", where.lower()).strip("-")[:40] or "unknown"
        text = "\n".join(
            (
                f"gpu-cockpit {__version__}, Python {platform.python_version()}, {platform.system()}",
                f"{when.isoformat(timespec='seconds')} in {where}",
                *_told(error, _DEEPEST),
            )
        )
        try:
            make_private_folder(self._folder)
            path = self._free(f"{when:%Y%m%dT%H%M%S}-{name}")
            write_private(path, text[:LARGEST_CHARACTERS] + "\n")
            self._forget_old()
        except (OSError, CockpitError):
            return None
        return path

    def _free(self, stem: str) -> Path:
        assert self._folder is not None
        for number in range(1, 1_000):
            path = self._folder / (f"{stem}.txt" if number == 1 else f"{stem}-{number}.txt")
            if not path.exists():
                return path
        raise FileExistsError(stem)

    def _forget_old(self) -> None:
        assert self._folder is not None
        found = sorted(self._folder.glob("*.txt"), key=lambda one: (one.stat().st_mtime_ns, one.name))
        for path in found[:-MOST_REPORTS]:
            with contextlib.suppress(OSError):
                path.unlink()


def _told(error: BaseException, deepest: int) -> Iterator[str]:
    """Kind and frames of an error, the innermost frame last; then what caused it."""
    yield ""
    yield _kind(error)
    yield from (f"  {place}" for place in _places(error))
    if deepest <= 0:
        return
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions[:_DEEPEST]:
            yield from _told(inner, deepest - 1)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        yield "caused by"
        yield from _told(cause, deepest - 1)


def _kind(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")


def _kinds(error: BaseException) -> tuple[str, ...]:
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return (_kind(error), *(_kind(item) for item in inner))


def _places(error: BaseException) -> list[str]:
    frames = [
        f"{_short(frame.f_code.co_filename)}:{line} in {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    return (
        frames
        if len(frames) <= MOST_FRAMES
        else [*frames[: MOST_FRAMES // 2], "...", *frames[-MOST_FRAMES // 2 :]]
    )


def _short(file: str) -> str:
    """A file as it is known without whose machine it is on."""
    parts = Path(file).parts
    for mark in ("site-packages", "dist-packages"):
        if mark in parts:
            return "/".join(parts[parts.index(mark) + 1 :])
    return "/".join(parts[-3:])
