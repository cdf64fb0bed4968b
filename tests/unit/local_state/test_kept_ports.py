"""The ports that were forwarded last."""

from pathlib import Path

from cockpit.local_state.kept_ports import MOST_PORTS, KeptPorts


def test_the_last_used_stand_first_and_outlive_the_run(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    kept = KeptPorts(path)
    assert kept.of("prod job") == ()
    for port in (80, 81, 80):
        kept.keep("prod job", (0, port))
    again = KeptPorts(path)
    assert again.of("prod job") == ((0, 80), (0, 81)) and again.note == ""
    assert path.stat().st_mode & 0o077 == 0


def test_there_are_not_too_many(tmp_path: Path) -> None:
    kept = KeptPorts(tmp_path / "ports.json")
    for port in range(1, 20):
        kept.keep("a", (0, port))
    assert kept.of("a") == tuple((0, port) for port in range(19, 19 - MOST_PORTS, -1))
    for number in range(300):
        kept.keep(f"t{number}", (0, 1))
    assert kept.of("a") == () and kept.of("t299") == ((0, 1),) and kept.note == ""


def test_a_file_that_cannot_be_read_is_ignored_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    path.write_text("{")
    kept = KeptPorts(path)
    assert kept.of("a") == () and "its saved ports are ignored" in kept.note


def test_without_a_file_they_are_kept_for_the_run() -> None:
    kept = KeptPorts(None)
    kept.keep("a", (1, 2))
    assert kept.of("a") == ((1, 2),)
