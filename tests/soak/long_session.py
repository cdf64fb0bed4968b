"""A long session on a quiet estate: thousands of keys over every place and page, and what that costs."""

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median

from tests.bench.idle import cluster
from tests.bench.idle_pages import PAGES
from tests.soak.ground import Screen, as_bytes, processor_seconds, resident_kib, since

SIZE = (160, 45)
WINDOW_KEYS = 500
"""Times are told of so many keys together, and memory after them."""
CALM_SECONDS = 0.06
"""Nothing more is drawn for so long: the key has been answered."""
LONGEST_SECONDS = 5.0
PATIENCE_SECONDS = 120.0
HOME = ("escape", "escape", "escape", "escape", "1")


@dataclass
class Window:
    """So many keys: how long the first byte after each took, processor time, memory behind them."""

    answers_seconds: list[float] = field(default_factory=list)
    cpu_seconds: float = 0.0
    resident_mb: float = 0.0

    @property
    def answer_ms(self) -> float:
        """Of a key, in the median."""
        return 1_000 * median(self.answers_seconds)

    @property
    def cpu_ms(self) -> float:
        """Of a key, on average."""
        return 1_000 * self.cpu_seconds / len(self.answers_seconds)


@dataclass
class LongSession:
    """What a long session showed. The first window warms up, the second is what the last is held against."""

    windows: list[Window]
    end_seconds: float
    exit_code: int

    @property
    def growth_mb(self) -> float:
        """Most memory behind the first window over that right behind it."""
        return max(window.resident_mb for window in self.windows[1:]) - self.windows[0].resident_mb

    @property
    def answer_ratio(self) -> float:
        """How long a key of the last window takes, to one of the second."""
        return self.windows[-1].answer_ms / self.windows[1].answer_ms

    @property
    def cpu_ratio(self) -> float:
        """The same of processor time, which other programs do not change."""
        return self.windows[-1].cpu_ms / self.windows[1].cpu_ms


def keys() -> Iterator[str]:
    """To every place and page and back, without end."""
    while True:
        for page in PAGES:
            for way, _ in page.ways:
                yield from way
            yield from ("down", "down", "up", *HOME[:-1])


def long_session(count: int, tell: Callable[[str], None]) -> LongSession:
    """Press so many keys in a session of its own on a cluster of its own, and leave by `q`."""
    with tempfile.TemporaryDirectory() as state, cluster(moves=False, pours=False) as (kubeconfig, _):
        environment = {"COLORTERM": "truecolor", "XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state}
        arguments = ["-m", "cockpit", "--kubeconfig", str(kubeconfig)]
        with Screen(arguments, SIZE, environment) as screen:
            _wait_for(screen, b"live")
            windows = _pressed(screen, count, tell)
            for key in HOME:  # out of lines in which `q` is a letter
                _answer(screen, key)
            began = time.monotonic()
            screen.write(b"q")
            code = screen.ends()
            return LongSession(windows, since(began), code)


def _wait_for(screen: Screen, word: bytes) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while word not in screen.sent:
        assert time.monotonic() < deadline and screen.take(1.0), screen.sent[-2_000:]
    _calm(screen)


def _pressed(screen: Screen, count: int, tell: Callable[[str], None]) -> list[Window]:
    windows, pressing = list[Window](), keys()
    for _ in range(count // WINDOW_KEYS):
        window, before = Window(), processor_seconds(screen.pid)
        for _ in range(WINDOW_KEYS):
            window.answers_seconds.append(_answer(screen, next(pressing)))
        window.cpu_seconds = processor_seconds(screen.pid) - before
        window.resident_mb = resident_kib(screen.pid) / 1024
        windows.append(window)
        tell(
            f"{len(windows) * WINDOW_KEYS:6} keys  {window.resident_mb:6.1f} MB  a key is answered in "
            f"{window.answer_ms:5.1f} ms (median) and takes {window.cpu_ms:5.1f} ms of a processor"
        )
    return windows


def _answer(screen: Screen, key: str) -> float:
    """Press a key; seconds to the first byte that comes, once no more comes."""
    began = time.monotonic()
    screen.write(as_bytes(key))
    if not screen.is_readable(CALM_SECONDS * 4):
        return since(began)  # a key that does nothing here draws nothing
    took = since(began)
    _calm(screen)
    return took


def _calm(screen: Screen) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while screen.is_readable(CALM_SECONDS) and time.monotonic() < deadline:
        assert screen.take(0), "it ended"
