"""The files of CIFAR-10 as they are handed out, binary or pickled; no code of a pickle is run.

The Python version is a pickle. A folder on a claim may come from anybody, so the unpickler makes four
harmless shapes and refuses every other name.
"""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLASSES = 10
SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
TRAINING = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST = ("test_batch",)
_FOLDERS = ("", "cifar-10-batches-bin", "cifar-10-batches-py")


class BadData(Exception):
    """The data set cannot be used; one sentence with the file and the remedy."""


@dataclass(frozen=True)
class Images:
    """`pixels`: 3072 bytes an image, red, green, blue, each row by row. `labels`: a byte an image, 0 to 9."""

    pixels: bytes
    labels: bytes


def read(folder: Path) -> tuple[Images, Images] | None:
    """Training and test images of a folder, or of the usual one in it; None where it has no file of the set.

    Raises BadData where the folder is not there, where some files are missing, and where one is damaged.
    """
    if not folder.is_dir():
        raise BadData(f"data: {folder} is no folder: mount the claim there, or leave --data out")
    for inside in _FOLDERS:
        for suffix in (".bin", ""):
            files = [folder / inside / f"{name}{suffix}" for name in (*TRAINING, *TEST)]
            missing = [file for file in files if not file.is_file()]
            if len(missing) == len(files):
                continue
            if missing:
                raise BadData(f"data: {missing[0]} is missing: copy the whole of CIFAR-10")
            parts = [_binary(file) if suffix else _pickled(file) for file in files]
            return _joined(parts[: len(TRAINING)]), parts[-1]
    return None


def _joined(parts: list[Images]) -> Images:
    return Images(b"".join(one.pixels for one in parts), b"".join(one.labels for one in parts))


def _checked(file: Path, images: Images) -> Images:
    if not images.labels or len(images.pixels) != PIXELS * len(images.labels):
        raise BadData(f"data: {file}: its pixels and labels do not agree: copy it again")
    if max(images.labels) >= CLASSES:
        raise BadData(
            f"data: {file}: label {max(images.labels)} is not one of 0 to {CLASSES - 1}: copy it again"
        )
    return images


def _binary(file: Path) -> Images:
    """A label byte and 3072 bytes of pixels for each image."""
    text = file.read_bytes()
    row = 1 + PIXELS
    if not text or len(text) % row:
        raise BadData(f"data: {file}: {len(text)} bytes are not whole images of {row}: copy it again")
    pixels = b"".join(text[start + 1 : start + row] for start in range(0, len(text), row))
    return _checked(file, Images(pixels, text[::row]))


class _Array:
    """What numpy's array leaves in a pickle: shape, type and bytes."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.raw = state[4]


class _Type:
    def __init__(self, *_: object) -> None: ...

    def __setstate__(self, state: object) -> None: ...


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Stand-ins for numpy's names; nothing of the file is ever called."""
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return lambda *_: _Array()
        if module == "numpy" and name in ("ndarray", "dtype"):
            return _Type
        if module == "_codecs" and name == "encode":
            return lambda text, _: text.encode("latin-1")
        raise pickle.UnpicklingError(f"{module}.{name} has no place in it")


def _pickled(file: Path) -> Images:
    try:
        with file.open("rb") as source:
            held = _Unpickler(source, encoding="bytes").load()
        pixels = held.get(b"data", held.get("data"))
        labels = held.get(b"labels", held.get("labels"))
        return _checked(file, Images(pixels.raw, bytes(labels)))
    except (pickle.UnpicklingError, EOFError, AttributeError, TypeError, ValueError, IndexError) as error:
        raise BadData(f"data: {file} is no batch of CIFAR-10 ({error}): copy it again") from error
