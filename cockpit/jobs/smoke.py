"""What the log of a smoke test says about a node's cards (the template `smoke-test`)."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from cockpit.gangs.sentence import counted

# nvidia-smi -L: "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)"; rocm-smi and others print their own.
_CARD = re.compile(r"^GPU (\d+): (.+?)(?: \(UUID: ([^)]+)\))?$")
_TROUBLE = re.compile(
    r"ERR!|Unable to determine the device handle|GPU is lost|Unknown Error|NVML: |No devices were found"
    r"|couldn't communicate with the NVIDIA driver|Failed to initialize NVML|fallen off the bus",
    re.IGNORECASE,
)
# The last column of the template's query: uncorrected ECC errors since the driver was loaded.
_ECC = re.compile(r"^(\d+), [^,]+, [^,]+, [^,]+, (\d+)$")


class SmokeVerdict(NamedTuple):
    """`is_pass`, one sentence why, and the cards that answered, as the log names them."""

    is_pass: bool
    sentence: str
    cards: tuple[str, ...] = ()


def judge(
    lines: Sequence[str], *, exit_code: int | None, asked: int, is_own_command: bool = False
) -> SmokeVerdict:
    """Pass or fail. `exit_code` None: the container never ran. `asked` is how many cards it was given.

    A command of one's own is judged by its exit code and by the words of trouble alone.
    """
    cards = tuple(dict.fromkeys(found[2] for line in lines if (found := _CARD.match(line.strip()))))
    told = tuple(line.strip() for line in lines if _CARD.match(line.strip()))
    if exit_code is None:
        return SmokeVerdict(False, "it never ran", cards)
    trouble = next((line.strip() for line in lines if _TROUBLE.search(line)), "")
    if trouble:
        return SmokeVerdict(False, trouble, cards)
    if exit_code != 0:
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")
        return SmokeVerdict(False, f"exit code {exit_code}: {last}", cards)
    if is_own_command:
        return SmokeVerdict(True, "the command succeeded", cards)
    if len(told) != asked:
        return SmokeVerdict(False, f"{len(told)} of {counted(asked, 'card')} answered", cards)
    for line in lines:
        found = _ECC.match(line.strip())
        if found is not None and int(found[2]):
            return SmokeVerdict(False, f"GPU {found[1]} counts {found[2]} uncorrected memory errors", cards)
    return SmokeVerdict(True, f"{len(told)} of {counted(asked, 'card')} answered: {', '.join(cards)}", cards)
