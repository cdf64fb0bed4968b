"""What `make test-real` says of a suite that dies, fails once, or fails always."""

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from tests.real import Result, longest_first, run_again, state, table, verdict
from tests.real import pytest as run_suite

GOOD = Result("tests/a", 3, 0, 1, 9.0, is_good=True)
FAILED = Result("tests/b", 2, 1, 0, 20.0, is_good=False)


def suite(folder: Path, body: str) -> str:
    path = folder / "test_a_suite.py"
    path.write_text(textwrap.dedent(body))
    return str(path)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM"])
def test_a_suite_that_dies_says_by_which_signal_and_at_which_test(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = f"""
        import os, signal

        def test_passes():
            pass

        def test_dies():
            os.kill(os.getpid(), signal.{name})
    """
    result = run_suite(suite(tmp_path, body), {}, ("-p", "no:faulthandler"))
    assert not result.is_good
    assert f"was ended by {name} without a summary" in result.ended
    assert result.ended.endswith("test_a_suite.py::test_dies")
    assert result.ended in capfd.readouterr().out
    assert state(result) == result.ended


def test_a_suite_that_exits_in_the_middle_says_with_which_code(tmp_path: Path) -> None:
    result = run_suite(suite(tmp_path, "import os\n\ndef test_exits():\n    os._exit(7)\n"), {}, ())
    assert result.ended.startswith("ended with exit code 7 without a summary: ")
    assert result.ended.endswith("::test_exits")


def test_a_suite_prints_its_slowest_tests_and_counts(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = (
        "import pytest\n\ndef test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pytest.skip('because')\n"
    )
    result = run_suite(suite(tmp_path, body), {}, ())
    assert (result.passed, result.failed, result.skipped, result.ended) == (1, 1, 1, "")
    assert "slowest 10 durations" in capfd.readouterr().out


@pytest.mark.parametrize("is_good_alone", [True, False])
def test_a_suite_that_fails_is_run_once_more(is_good_alone: bool) -> None:
    asked: list[str] = []

    def run(name: str) -> Result:
        asked.append(name)
        return replace(FAILED, failed=0, passed=3, is_good=is_good_alone)

    first, second = run_again([GOOD, FAILED], run)
    assert asked == ["tests/b"]
    assert first == GOOD
    assert second == replace(FAILED, is_good=is_good_alone, is_flaky=is_good_alone)
    kind = "flaky" if is_good_alone else "failed"
    assert verdict([first, second]) == f"{kind}: tests/b"
    assert f"| tests/b | 2 | 1 | 0 | {kind} | 20 |" in table([first, second])


def test_the_table_tells_which_suites_are_long() -> None:
    written = table([GOOD, FAILED])
    assert longest_first(["tests/a", "tests/b", "tests/new"], written) == ["tests/new", "tests/b", "tests/a"]
    assert verdict([GOOD]) == "all passed"
