"""What a demo has left on this machine: processes that carry its folder in their words or surroundings."""

import os
from pathlib import Path


class Leftovers:
    """Looks for everything that belongs to a demo whose state and temporary folders lie below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def processes(self, word: str = "") -> list[tuple[int, str]]:
        """(pid, command line) of living processes of this demo with `word` in their command line."""
        found = []
        mark = os.fsencode(self._folder)
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes()
                around = Path(f"/proc/{name}/environ").read_bytes()
                state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if state != "Z" and mark in words + around and word.encode() in words:
                found.append((int(name), words.replace(b"\0", b" ").decode("utf-8", "replace").strip()))
        return found

    def found(self) -> list[str]:
        """Everything that should not be there after the end, besides what watches the test's own terminal."""
        return [
            f"process {pid}: {words}"
            for pid, words in self.processes()
            if "cockpit.sim" in words or "launcher.py" in words or "COCKPIT_ROOT" in self._around(pid)
        ] + [f"folder {one}" for one in os.listdir(self._folder / "tmp")]

    def audit(self) -> str:
        """The audit lines."""
        return (self._folder / "state/gpu-cockpit/audit.jsonl").read_text()

    @staticmethod
    def _around(pid: int) -> str:
        try:
            return Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""
