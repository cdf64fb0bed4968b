"""What a stranger meets: each wheel in an environment of its own with an empty home."""

from dataclasses import dataclass
from pathlib import Path

from tests.release.environments import Answer, add_to, answer, make_environment, megabytes

EXPORTER_MEGABYTES = 45.0


@dataclass(frozen=True)
class Installed:
    """A wheel in an environment of its own; sizes in 10^6 bytes, problems as sentences."""

    wheel: str
    megabytes: float
    problems: tuple[str, ...]


class _Commands:
    """Runs the commands of one environment and keeps what was not as it should be."""

    def __init__(self, programs: Path, home: Path, label: str) -> None:
        self.programs, self.home, self.label = programs, home, label
        self.problems: list[str] = []

    def expect(self, line: str, code: int, out: str = "", error: str = "", error_lines: int = 0) -> Answer:
        """The exit code, a text in each stream, and how many lines of error there are."""
        program, *words = line.split()
        got = answer(self.programs / program, words, self.home)
        meant = (
            got.code == code
            and out in got.out
            and error in got.error
            and len(got.error.splitlines()) == error_lines
        )
        if not meant:
            tail = (got.error or got.out).strip()[-300:]
            self.problems.append(f"{self.label}: `{line}` ended with {got.code}, not {code}: {tail}")
        return got


def judge_cockpit(wheel: Path, version: str, work: Path) -> Installed:
    """The base first, then with the extra `demo`."""
    home = work / "home"
    home.mkdir(parents=True)
    programs = make_environment(work / "env", str(wheel))
    size = megabytes(work / "env")
    seen = _Commands(programs, home, wheel.name)
    seen.expect("cockpit --version", 0, out=f"cockpit {version}\n")
    seen.expect("cockpit get nodes", 2, error="There is no kubeconfig at ", error_lines=1)
    seen.expect("cockpit template list", 0, out="mpijob")
    seen.expect("cockpit why --explain quota-in-use", 0, out="the queue's quota is in use")
    seen.expect("cockpit demo --list", 0, out="two-nodes")
    hint = "pip install 'gpu-cockpit[demo]'"
    seen.expect("cockpit demo", 2, error=hint, error_lines=1)
    left = [path.name for path in home.rglob("*") if path.is_file()]
    if left:
        seen.problems.append(f"{wheel.name}: left {', '.join(left)} in an empty home")
    add_to(work / "env", f"{wheel}[demo]")
    seen.expect("cockpit demo", 0, out="16 nodes, 16 with GPUs")
    return Installed(wheel.name, size, tuple(seen.problems))


def judge_exporter(wheel: Path, version: str, work: Path) -> Installed:
    """Without a driver: it says so, and is small."""
    home = work / "home"
    home.mkdir(parents=True)
    programs = make_environment(work / "env", str(wheel))
    size = megabytes(work / "env")
    seen = _Commands(programs, home, wheel.name)
    seen.expect("cockpit-exporter --help", 0, out="usage: cockpit-exporter")
    seen.expect("cockpit-exporter --version", 0, out=f"cockpit-exporter {version}\n")
    seen.expect("cockpit-exporter --interval never", 2, error="give a number of seconds", error_lines=1)
    if size > EXPORTER_MEGABYTES:
        seen.problems.append(
            f"{wheel.name}: its environment has {size:.0f} MB, at most {EXPORTER_MEGABYTES:.0f}"
        )
    return Installed(wheel.name, size, tuple(seen.problems))
