"""What a simulated pod does, read from its annotations; what it does when it says nothing, from `Habits`.

The list of annotations is in the docstring of the package (`cockpit.sim.actors.kubelet`).
"""

import re
from random import Random
from typing import Any, Literal

import msgspec

from cockpit.errors import BadInput
from cockpit.k8s.quantity import parse_quantity
from cockpit.sim.port import Tree

PREFIX = "cockpit.dev/"
FOREVER = float("inf")

ImageError = Literal["not-found", "unauthorized", "rate-limit", "unavailable", "never", "invalid"]
_IMAGE_ERRORS = ("not-found", "unauthorized", "rate-limit", "unavailable", "never", "invalid")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Habits(msgspec.Struct, frozen=True):
    """What the simulated world does unless an object says otherwise; ranges are (least, most)."""

    sandbox_seconds: tuple[float, float] = (0.4, 1.6)
    create_seconds: tuple[float, float] = (0.1, 0.5)
    stop_seconds: tuple[float, float] = (0.2, 1.5)
    job_seconds: tuple[float, float] = (180.0, 900.0)
    pull_bytes_per_second: tuple[float, float] = (220e6, 420e6)
    sync_seconds: float = 10.0


class ProbeStory(msgspec.Struct, frozen=True):
    """Outcomes of one probe: fails before `ok_after_seconds`, and again from `fail_after_seconds` on."""

    ok_after_seconds: float = 0.0
    fail_after_seconds: float = FOREVER


class Behaviour(msgspec.Struct, frozen=True):
    """What one container of a simulated pod does."""

    duration_seconds: float | None = None
    exit_code: int | None = None
    oom_after_seconds: float | None = None
    stop_seconds: float | None = None
    image_bytes: int | None = None
    image_error: str = ""
    memory_bytes: int | None = None
    cpu_cores: float | None = None
    log: str = ""
    step_seconds: float = 2.0
    probes: dict[str, ProbeStory] = {}

    def lasts(self, random: Random, habits: Habits, *, restarts_always: bool) -> float:
        """Seconds that the container runs when nothing stops it; `random` decides where nothing is said."""
        if self.duration_seconds is not None:
            return self.duration_seconds
        if self.exit_code is not None:
            return random.uniform(2.0, 8.0)
        return FOREVER if restarts_always else random.uniform(*habits.job_seconds)


def seconds_from(text: str, what: str) -> float:
    """`90`, `1.5s`, `2m30s`, `12h`, `forever` in seconds. Raises BadInput naming `what`."""
    text = text.strip()
    if text in ("forever", "never"):
        return FOREVER
    try:
        return max(0.0, float(text)) if not text.endswith(("s", "m", "h", "d")) else _units(text)
    except ValueError:
        raise BadInput(f"{what}: {text!r} is no duration; write 90s, 2m30s or forever.") from None


def _units(text: str) -> float:
    parts = _DURATION.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        raise ValueError(text)
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)


def behaviour_of(pod: Tree, container: str) -> Behaviour:
    """The behaviour of one container: `cockpit.dev/KEY.CONTAINER` before `cockpit.dev/KEY`.

    Raises BadInput naming pod, annotation and value where one cannot be read.
    """
    annotations = pod["metadata"].get("annotations") or {}
    if not any(key.startswith(PREFIX) for key in annotations):
        return _PLAIN
    reader = _Reader(pod, annotations, container)
    return Behaviour(
        duration_seconds=reader.seconds("duration"),
        exit_code=reader.count("exit-code"),
        oom_after_seconds=reader.seconds("oom-after"),
        stop_seconds=reader.seconds("stop-seconds"),
        image_bytes=_whole(reader.quantity("image-size")),
        image_error=reader.one_of("image-error", _IMAGE_ERRORS),
        memory_bytes=_whole(reader.quantity("memory")),
        cpu_cores=reader.quantity("cpu"),
        log=reader.text("log"),
        step_seconds=max(0.001, reader.seconds("step-seconds") or 2.0),
        probes={kind: reader.probe(kind) for kind in ("liveness", "readiness", "startup")},
    )


_PLAIN = Behaviour(probes={kind: ProbeStory() for kind in ("liveness", "readiness", "startup")})


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


class _Reader:
    """Annotations of one container, read by type."""

    def __init__(self, pod: Tree, annotations: dict[str, Any], container: str) -> None:
        self._where = f"pod {pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
        self._annotations = annotations
        self._container = container

    def text(self, key: str) -> str:
        full = PREFIX + key
        return str(self._annotations.get(f"{full}.{self._container}", self._annotations.get(full, "")))

    def _says(self, key: str) -> str:
        return f"{self._where}, annotation {PREFIX}{key}"

    def seconds(self, key: str) -> float | None:
        text = self.text(key)
        return seconds_from(text, self._says(key)) if text else None

    def count(self, key: str) -> int | None:
        text = self.text(key)
        if not text:
            return None
        try:
            return int(text)
        except ValueError:
            raise BadInput(f"{self._says(key)}: {text!r} is no whole number; write 1 or 137.") from None

    def quantity(self, key: str) -> float | None:
        text = self.text(key)
        if not text:
            return None
        try:
            return parse_quantity(text)
        except ValueError:
            raise BadInput(f"{self._says(key)}: {text!r} is no quantity; write 500m or 9Gi.") from None

    def one_of(self, key: str, words: tuple[str, ...]) -> str:
        text = self.text(key)
        if text and text not in words:
            raise BadInput(f"{self._says(key)}: {text!r} is not one of {', '.join(words)}.")
        return text

    def probe(self, kind: str) -> ProbeStory:
        key = f"{kind}-probe"
        story = {"ok-after": 0.0, "fail-after": FOREVER}
        for part in self.text(key).split(","):
            name, equals, value = part.strip().partition("=")
            if not part.strip():
                continue
            if not equals or name not in story:
                raise BadInput(f"{self._says(key)}: {part!r} is neither ok-after=30s nor fail-after=5m.")
            story[name] = seconds_from(value, self._says(key))
        return ProbeStory(story["ok-after"], story["fail-after"])
