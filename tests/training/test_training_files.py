"""The parts of the training code that need no torch: lines, checkpoints, data files, stopping."""

import argparse
import io
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import checkpoints
import cifar
import pytest
from number_options import at_least, more_than_zero, not_negative
from progress_line import Meter, line, say

CODE = Path(checkpoints.__file__).parent


def test_a_line_is_an_event_and_pairs() -> None:
    told = line("progress", step=120, loss=1.23456789, samples_per_s=1784.25, steps=None, rank=0)
    assert told == "progress step=120 loss=1.2346 samples_per_s=1784.2 rank=0"


def test_a_value_with_spaces_or_quotes_stands_in_quotes() -> None:
    assert line("data", why='no "CIFAR"\nhere') == 'data why="no \\"CIFAR\\" here"'
    assert line("data", why="a=b") == 'data why="a=b"'
    assert line("data", why="") == 'data why=""'


def test_large_numbers_have_no_exponent() -> None:
    assert line("ended", samples_per_s=1234567.89) == "ended samples_per_s=1234567.9"


def test_a_reader_that_went_away_ends_no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Gone())
    say("checkpoint", step=1)


def test_the_meter_leaves_the_first_interval_out_of_the_run() -> None:
    now = [0.0]
    meter = Meter(lambda: now[0])
    meter.step(64)
    now[0] = 10.0
    assert meter.interval() == (6.4, 10.0)
    assert meter.samples_per_s is None
    for _ in range(4):
        meter.step(64)
    now[0] = 12.0
    assert meter.interval() == (128.0, 0.5)
    assert meter.samples_per_s == 128.0


def _whole(folder: Path, step: int, keep: int = 3) -> Path:
    def fill(sink: io.BufferedIOBase) -> None:
        with zipfile.ZipFile(sink, "w") as file:
            file.writestr("data/0", bytes(range(256)) * 64)

    return checkpoints.write(folder, step, fill, keep)  # type: ignore[arg-type]


def test_only_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    for step in (10, 20, 100, 30):
        _whole(tmp_path, step, keep=2)
    assert [path.name for path in checkpoints.found(tmp_path)] == [
        "checkpoint-00000100.pt",
        "checkpoint-00000030.pt",
    ]
    assert checkpoints.found(tmp_path / "none") == []


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_checkpoint_that_was_cut_is_named_and_the_one_before_is_taken(tmp_path: Path, share: float) -> None:
    before, cut = _whole(tmp_path, 10), _whole(tmp_path, 20)
    whole = cut.read_bytes()
    cut.write_bytes(whole[: int(len(whole) * share)])
    said: list[tuple[str, str]] = []
    assert checkpoints.newest_whole(tmp_path, lambda path, why: said.append((path.name, why))) == before
    assert [name for name, _ in said] == [cut.name]
    assert "it was cut" in said[0][1]


def test_a_checkpoint_with_a_changed_byte_is_refused(tmp_path: Path) -> None:
    path = _whole(tmp_path, 10)
    held = bytearray(path.read_bytes())
    held[len(held) // 2] ^= 1
    path.write_bytes(held)
    assert checkpoints.what_is_wrong(path) == "the part data/0 has changed since it was written"
    assert checkpoints.newest_whole(tmp_path, lambda *_: None) is None


def test_who_is_killed_while_writing_leaves_the_one_before(tmp_path: Path) -> None:
    before = _whole(tmp_path, 10)

    def killed(sink: io.BufferedIOBase) -> None:
        sink.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checkpoints.write(tmp_path, 20, killed, 3)  # type: ignore[arg-type]
    assert checkpoints.found(tmp_path) == [before]
    _whole(tmp_path, 30)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint-00000010.pt",
        "checkpoint-00000030.pt",
    ]


def _rows(count: int) -> list[tuple[int, bytes]]:
    return [(number % 10, bytes([number % 251]) * cifar.PIXELS) for number in range(count)]


def _binary(folder: Path, count: int = 20) -> None:
    for name in (*cifar.TRAINING, *cifar.TEST):
        (folder / f"{name}.bin").write_bytes(b"".join(bytes([label]) + row for label, row in _rows(count)))


def test_the_binary_files_are_read(tmp_path: Path) -> None:
    _binary(tmp_path)
    held = cifar.read(tmp_path)
    assert held is not None
    train, test = held
    assert train.labels == bytes(label for label, _ in _rows(20)) * 5
    assert test.pixels == b"".join(row for _, row in _rows(20))


def _pickled(labels: list[int], raw: bytes) -> bytes:
    """A batch as it is handed out: protocol 2, written by Python 2, its array by numpy."""
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntU\x01btR(I1\n(I1\nI1\nt"
    array += b"cnumpy\ndtype\n(U\x02u1I0\nI1\ntR(I3\nU\x01|NNNI-1\nI-1\nI0\ntbI00\n"
    array += b"T" + len(raw).to_bytes(4, "little") + raw + b"tb"
    listed = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return b"\x80\x02}(U\x06labels" + listed + b"U\x04data" + array + b"u."


def test_the_pickled_files_are_read_in_their_usual_folder(tmp_path: Path) -> None:
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for name in (*cifar.TRAINING, *cifar.TEST):
        rows = _rows(3)
        (folder / name).write_bytes(_pickled([label for label, _ in rows], b"".join(row for _, row in rows)))
    held = cifar.read(tmp_path)
    assert held is not None
    assert held[1].labels == bytes([0, 1, 2])
    assert len(held[0].pixels) == 5 * 3 * cifar.PIXELS


def test_a_pickle_that_calls_something_is_refused(tmp_path: Path) -> None:
    _binary(tmp_path)
    for file in tmp_path.iterdir():
        file.rename(file.with_suffix(""))
    evil = tmp_path / "data_batch_1"
    evil.write_bytes(b"cos\nsystem\n(S'touch " + os.fsencode(tmp_path / "harmed") + b"'\ntR.")
    with pytest.raises(cifar.BadData, match="data_batch_1 is no batch of CIFAR-10"):
        cifar.read(tmp_path)
    assert not (tmp_path / "harmed").exists()


def test_a_folder_that_is_missing_or_half_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(cifar.BadData, match="none is no folder"):
        cifar.read(tmp_path / "none")
    assert cifar.read(tmp_path) is None
    _binary(tmp_path)
    (tmp_path / "data_batch_3.bin").unlink()
    with pytest.raises(cifar.BadData, match=r"data_batch_3.bin is missing"):
        cifar.read(tmp_path)


@pytest.mark.parametrize(
    ("text", "why"), [(b"\x01" + bytes(99), "not whole images"), (b"\x0b" + bytes(cifar.PIXELS), "label 11")]
)
def test_a_damaged_file_is_named(tmp_path: Path, text: bytes, why: str) -> None:
    _binary(tmp_path)
    (tmp_path / "data_batch_2.bin").write_bytes(text)
    with pytest.raises(cifar.BadData, match=why):
        cifar.read(tmp_path)


STUCK = """
import signal, sys
from stopping import Stopping
told = []
stopping = Stopping(float(sys.argv[1]), lambda name: told.append(print(name, flush=True)))
print("ready", flush=True)
while not (stopping.is_asked and told) or sys.argv[2] == "stuck":
    signal.sigtimedwait([signal.SIGUSR1], 0.01)
sys.exit(7)
"""


@pytest.mark.parametrize(("how", "code"), [("loop", 7), ("stuck", 143)])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_stop_is_asked_for_and_ends_what_is_stuck(how: str, code: int, number: signal.Signals) -> None:
    command = [sys.executable, "-c", STUCK, "0.1" if how == "stuck" else "600", how]
    with subprocess.Popen(command, cwd=CODE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == f"{number.name}\n"
        assert process.wait() == code


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (at_least(1), "abc", "argument --of: 'abc' is no whole number: give one of 1 or more"),
        (at_least(1), "64.5", "'64.5' is no whole number"),
        (at_least(1), "0", "argument --of: 0 is too small: give 1 or more"),
        (at_least(0), "-3", "argument --of: -3 is too small: give 0 or more"),
        (more_than_zero, "-0.1", "argument --of: -0.1 is too small: give more than 0"),
        (more_than_zero, "nan", "argument --of: 'nan' is no number"),
        (more_than_zero, "fast", "argument --of: 'fast' is no number"),
        (not_negative, "-1", "argument --of: -1 is too small: give 0 or more"),
    ],
)
def test_a_wrong_number_is_refused_with_the_remedy(
    kind: Callable[[str], float], text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--of", type=kind)
    assert parser.parse_args(["--of", "3"]).of == 3
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(["--of", text])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
