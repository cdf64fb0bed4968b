"""The C stand-in for libnvidia-ml, and a process of the exporter that moves one step at a time on it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

SOURCE = Path(__file__).with_name("nvml_standin.c")
STEPPER = Path(__file__).with_name("stepper.py")

Sample = tuple[str, dict[str, str], float]


def compiled(folder: Path, *defines: str) -> Path:
    """The folder with the built library, for LD_LIBRARY_PATH. Skips where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc, clang): the stand-in for libnvidia-ml cannot be built")
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wl,-soname,libnvidia-ml.so.1", *defines]
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([*command, "-o", str(library), str(SOURCE), "-lpthread"], check=True, timeout=120)
    return folder


@dataclass(frozen=True)
class Page:
    """One exposition, parsed."""

    text: str

    def samples(self, name: str, /, **labels: str) -> list[Sample]:
        return [one for one in parsed(self.text) if one[0] == name and labels.items() <= one[1].items()]

    def value(self, name: str, /, **labels: str) -> float:
        found = self.samples(name, **labels)
        assert len(found) == 1, f"{name} {labels}: {len(found)} samples"
        return found[0][2]

    def by_gpu(self, name: str, /, **labels: str) -> dict[str, float]:
        return {one[1]["gpu"]: one[2] for one in self.samples(name, **labels)}

    def names(self) -> set[str]:
        return {one[0] for one in parsed(self.text)}


def parsed(text: str) -> list[Sample]:
    return [
        (one.name, dict(one.labels), float(one.value))
        for family in text_string_to_metric_families(text)
        for one in family.samples
    ]


class Box:
    """A machine with cards, directed by lines of the script, and an exporter process on it."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._library = library
        self._script = folder / "script"
        self._process: subprocess.Popen[str] | None = None
        self.folder = folder
        self.environment = {
            **os.environ,
            "LD_LIBRARY_PATH": str(library),
            "NVML_STANDIN_SCRIPT": str(self._script),
        }
        self.write()

    def write(self, *lines: str) -> None:
        """Replace the script at once, so that it is never read half written."""
        new = self._script.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in lines))
        new.replace(self._script)

    def start(self, **settings: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(STEPPER), json.dumps(settings)],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, do: str, **more: object) -> dict[str, Any]:
        if self._process is None:
            self.start()
        assert self._process is not None
        stdin, stdout = _pipes(self._process)
        stdin.write(json.dumps({"do": do, **more}) + "\n")
        stdin.flush()
        line = stdout.readline()
        assert line, "the exporter's process ended"
        found: dict[str, Any] = json.loads(line)
        return found

    def step(self, *, advance: float = 5.0) -> Page:
        """One round after this time, and its page."""
        return Page(self.ask("step", advance=advance)["page"])

    def steps(self, count: int) -> Page:
        pages: Iterable[Page] = (self.step() for _ in range(count))
        return list(pages)[-1]

    def close(self) -> None:
        if self._process is not None:
            for pipe in _pipes(self._process):
                pipe.close()
            self._process.kill()
            self._process.wait(timeout=30)


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout
