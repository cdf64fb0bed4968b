"""Images and labels as tensors: CIFAR-10 from a folder, or a set of the same shape that is made up."""

from pathlib import Path

import cifar
import torch
from cifar import CLASSES, SHAPE


class ImageSet:
    """`pixels` as bytes (N, 3, 32, 32), `labels` (N). Kept as bytes: 50,000 images are 150 MB."""

    def __init__(self, pixels: torch.Tensor, labels: torch.Tensor) -> None:
        self.pixels = pixels
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def batch(
        self, chosen: torch.Tensor, device: torch.device, dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The chosen images, about -1 to 1, and their labels, on a device."""
        pixels = self.pixels[chosen].to(device, dtype, non_blocking=True)
        return pixels / 127.5 - 1.0, self.labels[chosen].to(device, non_blocking=True)


def _tensors(images: cifar.Images) -> ImageSet:
    pixels = torch.frombuffer(bytearray(images.pixels), dtype=torch.uint8).reshape(-1, *SHAPE)
    return ImageSet(pixels, torch.frombuffer(bytearray(images.labels), dtype=torch.uint8).long())


def synthetic(samples: int, seed: int, part: int) -> ImageSet:
    """Each class is a faint pattern of its own under noise; `part` 0 to train with, 1 to test with.

    The patterns depend on the seed alone, so that what is learnt from one part holds for the other. Every
    tenth label to train with is drawn blindly: as with real images the loss has a floor, and it is not 0.
    """
    patterns = torch.rand(CLASSES, 3, 8, 8, generator=torch.Generator().manual_seed(seed))
    patterns = torch.nn.functional.interpolate(patterns * 32, size=SHAPE[1:])
    drawn = torch.Generator().manual_seed(seed * 2 + part + 1)
    shown = torch.randint(CLASSES, (samples,), generator=drawn)
    pixels = torch.empty(samples, *SHAPE, dtype=torch.uint8)
    for start in range(0, samples, 4096):
        some = shown[start : start + 4096]
        noise = torch.randint(224, (len(some), *SHAPE), generator=drawn, dtype=torch.uint8)
        pixels[start : start + 4096] = patterns[some].to(torch.uint8) + noise
    blind = torch.randint(CLASSES, (samples,), generator=drawn)
    is_blind = torch.rand(samples, generator=drawn) < (0.0 if part else 0.1)
    return ImageSet(pixels, torch.where(is_blind, blind, shown))


def load(folder: str, samples: int, seed: int) -> tuple[ImageSet, ImageSet, str]:
    """To train with, to test with, and why they are synthetic; "" where they are CIFAR-10.

    `samples` limits both (0: all of CIFAR-10, 50,000 synthetic). Raises `cifar.BadData`.
    """
    held = cifar.read(Path(folder)) if folder else None
    if held is not None:
        train, test = (_tensors(one) for one in held)
        if samples:
            train = ImageSet(train.pixels[:samples], train.labels[:samples])
            test = ImageSet(test.pixels[:samples], test.labels[:samples])
        return train, test, ""
    why = f"{folder} has no file of CIFAR-10" if folder else "no folder was named"
    count = samples or 50_000
    return synthetic(count, seed, 0), synthetic(max(count // 5, CLASSES), seed, 1), why


def chosen(total: int, seed: int, epoch: int, begin: int, count: int) -> torch.Tensor:
    """Which images a rank takes: `count` of them from place `begin` of the epoch's own order.

    A pure function of its arguments: ranks need not agree on anything but how many they are, a resumed run
    goes on where it stopped, and so does one that has another number of ranks.
    """
    order = torch.randperm(total, generator=torch.Generator().manual_seed(seed * 100_003 + epoch))
    return order[begin : begin + count]
