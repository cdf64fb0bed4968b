"""Images of a node: how big they are, how long a pull takes, which are there already.

Sizes are compressed sizes as registries show them (order of magnitude, by name); what no name tells is drawn
once per image. One pull at a time per node, as `serializeImagePulls` is true by default.
"""

import hashlib
from random import Random

from cockpit.sim.actors.kubelet.behaviour import Behaviour, Habits

_KNOWN_BYTES = (
    ("nemo", 15_800_000_000),
    ("tritonserver", 9_800_000_000),
    ("vllm", 8_900_000_000),
    ("horovod", 5_900_000_000),
    ("pytorch", 7_600_000_000),
    ("tensorflow", 4_700_000_000),
    ("cuda", 2_900_000_000),
    ("jupyter", 1_300_000_000),
    ("mpi", 900_000_000),
    ("busybox", 2_160_000),
    ("alpine", 3_800_000),
    ("nginx", 72_000_000),
    ("pause", 320_000),
    ("dcgm-exporter", 980_000_000),
)
_AGAIN_SECONDS = (0.25, 0.6)
_REFUSED_SECONDS = (0.4, 1.9)


def image_bytes(image: str, behaviour: Behaviour) -> int:
    """The compressed size of an image in bytes: said, known by name, or drawn from the name."""
    if behaviour.image_bytes is not None:
        return behaviour.image_bytes
    name = image.lower()
    spread = Random(f"image/{image}")
    for word, size in _KNOWN_BYTES:
        if word in name:
            return int(size * spread.uniform(0.92, 1.08))
    return int(spread.uniform(40e6, 1.2e9))


def image_digest(image: str) -> str:
    """`repository@sha256:…`: the same for the same name."""
    repository = image.split("@", 1)[0]
    if ":" in repository.rsplit("/", 1)[-1]:
        repository = repository.rsplit(":", 1)[0]
    return f"{repository}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"


class Pull:
    """One pull: when it is done (epoch seconds), how long it took itself, how long with its queue."""

    __slots__ = ("image", "pull_seconds", "ready_at", "size_bytes", "waited_seconds")

    def __init__(
        self, image: str, ready_at: float, pull_seconds: float, waited_seconds: float, size_bytes: int
    ) -> None:
        self.image = image
        self.ready_at = ready_at
        self.pull_seconds = pull_seconds
        self.waited_seconds = waited_seconds
        self.size_bytes = size_bytes


class ImageStore:
    """Images of one node."""

    def __init__(self, habits: Habits) -> None:
        self._habits = habits
        self._there_at: dict[str, float] = {}
        self._sizes: dict[str, int] = {}
        self._free_at = 0.0

    def has(self, image: str, now: float) -> bool:
        """True when the image is on the node."""
        return self._there_at.get(image, now + 1) <= now

    def put(self, image: str, now: float) -> None:
        """The image is there (a node image that came with it)."""
        self._there_at.setdefault(image, now)

    def pull(self, image: str, behaviour: Behaviour, now: float, random: Random) -> Pull:
        """Queue a pull that will succeed."""
        size = image_bytes(image, behaviour)
        if image in self._there_at:
            seconds = random.uniform(*_AGAIN_SECONDS)
        else:
            seconds = 0.3 + size / random.uniform(*self._habits.pull_bytes_per_second)
        begins = max(now, self._free_at)
        ready = begins + seconds
        self._free_at = ready
        self._there_at.setdefault(image, ready)
        self._sizes[image] = size
        return Pull(image, ready, seconds, ready - now, size)

    def refuse(self, now: float, random: Random) -> float:
        """Queue a pull that the registry will refuse; answers when it does."""
        self._free_at = max(now, self._free_at) + random.uniform(*_REFUSED_SECONDS)
        return self._free_at

    def listed(self, now: float) -> list[tuple[str, int]]:
        """(image, bytes) of what is there, biggest first: `status.images` of the node."""
        there = [(name, self._sizes.get(name, 0)) for name, at in self._there_at.items() if at <= now]
        return sorted(there, key=lambda pair: (-pair[1], pair[0]))
