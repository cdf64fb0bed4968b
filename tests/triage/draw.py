"""What a seed decides: names, sizes, neighbours, and whether a second cause is injected."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_MODELS = (
    "llama",
    "mixtral",
    "bert",
    "whisper",
    "resnet",
    "qwen",
    "sd-xl",
    "t5",
    "moe",
    "gpt-neo",
    "clip",
    "vit",
)
_FORMS = ("7b", "70b", "sft", "pretrain", "sweep", "eval", "distill", "ddp", "lora", "rlhf", "embed", "ft")
_TEAMS = ("vision", "nlp", "speech", "genomics", "robotics", "search", "ads", "climate", "physics", "recsys")
_PRODUCTS = (
    ("h100", "NVIDIA-H100-80GB-HBM3"),
    ("h200", "NVIDIA-H200"),
    ("a100", "NVIDIA-A100-SXM4-80GB"),
    ("b200", "NVIDIA-B200"),
    ("l40s", "NVIDIA-L40S"),
)


class Draw:
    """One seed's choices. Names are given once. `has_second` tells a script to inject a second cause, too."""

    def __init__(self, row: str, seed: int, *, has_second: bool = False) -> None:
        self.rng = random.Random(f"{row} {seed}")
        self.has_second = has_second
        self._given: set[str] = set()

    def chance(self, share: float) -> bool:
        """True in this share of the seeds."""
        return self.rng.random() < share

    def number(self, low: int, high: int) -> int:
        """One of low..high, both included."""
        return self.rng.randint(low, high)

    def one_of(self, *choices: T) -> T:
        """One of the choices."""
        return self.rng.choice(choices)

    def some(self, choices: Sequence[T], count: int) -> list[T]:
        """Different ones, in the order drawn."""
        return self.rng.sample(list(choices), count)

    def _new(self, *parts: Sequence[str]) -> str:
        while True:
            name = "-".join(self.rng.choice(one) for one in parts)
            if name in self._given:
                name = f"{name}-{self.rng.randint(2, 99)}"
            if name not in self._given:
                self._given.add(name)
                return name

    def job(self) -> str:
        """A job's name, as `llama-sft`."""
        return self._new(_MODELS, _FORMS)

    def space(self) -> str:
        """A namespace, as `team-vision-4`."""
        return f"{self._new(('team', 'lab', 'prod'), _TEAMS)}-{self.rng.randint(1, 99)}"

    def word(self, *stems: str) -> str:
        """A name for anything else: one of the stems, with something behind it."""
        return self._new(stems, ("a", "b", "main", "blue", "green", "x1", "eu", "us", "old", "v2"))

    def product(self) -> tuple[str, str]:
        """A short word for a model of card and its label, as (h100, NVIDIA-H100-80GB-HBM3)."""
        return self.rng.choice(_PRODUCTS)
