"""Folders that killed demos left: the next one removes them, and nothing else."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.errors import BadInput
from cockpit.sim.demo_folder import LOCK, PREFIX, fresh_folder, in_use, remove_leftovers


@pytest.fixture(autouse=True)
def tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path


def left_behind(tmp: Path, name: str = "left") -> Path:
    folder = tmp / f"{PREFIX}{name}"
    (folder / "pki").mkdir(parents=True)
    (folder / "pki" / "admin.key").write_text("secret")
    (folder / LOCK).touch()
    return folder


def test_a_folder_goes_with_its_demo(tmp: Path) -> None:
    with fresh_folder() as folder:
        assert folder.parent == tmp and folder.stat().st_mode & 0o077 == 0
        (folder / "kubeconfig").touch()
    assert not folder.exists()


def test_what_was_left_goes_and_what_is_in_use_stays(tmp: Path) -> None:
    left = [left_behind(tmp, "one"), left_behind(tmp, "two")]
    with fresh_folder() as mine, fresh_folder() as another:
        assert remove_leftovers() == left
        assert mine.exists() and another.exists()
    assert list(tmp.iterdir()) == []


def test_it_is_in_use_for_as_long_as_one_of_both_lives(tmp: Path) -> None:
    folder = left_behind(tmp)
    with in_use(folder):
        with in_use(folder):
            pass
        assert remove_leftovers() == []
    assert remove_leftovers() == [folder]


_KILLED = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from cockpit.sim.demo_folder import fresh_folder
with fresh_folder() as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_one_that_was_killed_is_free(tmp: Path) -> None:
    words = [sys.executable, "-c", _KILLED, str(tmp)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        folder = Path(demo.stdout.readline().strip())
        assert folder.is_dir() and remove_leftovers() == []
        demo.send_signal(signal.SIGKILL)
        demo.wait()
    assert remove_leftovers() == [folder]


def test_what_is_no_leftover_of_ours_stays(tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp / "victim"
    victim.mkdir()
    (victim / LOCK).touch()
    (tmp / f"{PREFIX}link").symlink_to(victim, target_is_directory=True)
    linked = tmp / f"{PREFIX}linked-lock"
    linked.mkdir()
    (linked / LOCK).symlink_to(victim / LOCK)
    (tmp / f"{PREFIX}file").touch()
    bare = tmp / f"{PREFIX}of-somebody"
    bare.mkdir()
    odd = tmp / f"{PREFIX}odd"
    (odd / LOCK).mkdir(parents=True)
    before = sorted(tmp.rglob("*"))
    assert remove_leftovers() == []
    assert sorted(tmp.rglob("*")) == before
    theirs = left_behind(tmp, "theirs")
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert remove_leftovers() == [] and theirs.exists()


def test_a_link_within_a_leftover_is_removed_and_not_followed(tmp: Path) -> None:
    treasure = tmp / "treasure"
    treasure.mkdir()
    (treasure / "thesis").touch()
    left = left_behind(tmp)
    (left / "pods").symlink_to(treasure, target_is_directory=True)
    assert remove_leftovers() == [left]
    assert (treasure / "thesis").exists()


def test_no_folder_for_files_is_told(tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp / "nowhere"))
    assert remove_leftovers() == []
    told = r"No folder can be made in .*nowhere: .*; give one by --folder\."
    with pytest.raises(BadInput, match=told), fresh_folder():
        pass


INTERRUPTED = """
import os, signal, tempfile
from cockpit.sim.demo_folder import fresh_folder
mkdtemp = tempfile.mkdtemp
def interrupted(prefix):
    made = mkdtemp(prefix=prefix)
    os.kill(os.getpid(), signal.SIGINT)
    return made
tempfile.mkdtemp = interrupted
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with fresh_folder():
        print("the demo begins all the same")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_while_a_folder_is_made_leaves_none(tmp: Path) -> None:
    """In a process with one thread, as the demo is by then: a signal may go to any thread that takes it."""
    surroundings = {**os.environ, "TMPDIR": str(tmp)}
    said = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], env=surroundings, capture_output=True, text=True, check=True
    )
    assert said.stdout == "interrupted\n" and list(tmp.iterdir()) == []
