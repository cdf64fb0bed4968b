"""Lines of training logs in the formats of the usual programs, by example; hostile ones do no harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.jobs.progress import Patterns, Progress, fraction_done
from cockpit.jobs.template import load_library
from cockpit.jobs.training.formats import event_of
from cockpit.jobs.training.rank_lines import by_rank
from cockpit.kube.logs import readable
from cockpit.views.timeline import progress_words

PATTERNS = Patterns(load_library().templates["mpijob"].progress)

LINES = [
    (
        "progress step=120 steps=1000 epoch=2 loss=1.2345 samples_per_s=1784.2 seconds_per_step=0.0717"
        " compute_s=0.0521 rank=0 size=2 colour=green",
        {
            "step": 120, "steps": 1000, "epoch": 2, "loss": 1.2345, "rate": 1784.2, "rate_unit": "samples/s",
            "seconds_per_step": 0.0717, "compute_seconds": 0.0521, "rank": 0, "size": 2,
            "is_step_of_run": True, "is_rate_of_rank": False,
        },
    ),
    (
        "[1]<stdout>:progress rank=1 compute_s=0.0643 step=120",
        {"step": 120, "compute_seconds": 0.0643, "rank": 1, "is_step_of_run": True},
    ),
    (
        "[1,3]<stdout>:Iter #3: 301.2 img/sec per GPU",
        {
            "step": 3, "rate": 301.2, "rate_unit": "images/s", "rank": 3, "is_rate_of_rank": True,
            "is_step_of_run": True,
        },
    ),
    (
        "Img/sec per GPU: 300.1 +-2.3",
        {"rate": 300.1, "rate_unit": "images/s", "is_rate_of_rank": True, "is_mean_of_run": True},
    ),
    (
        "Total img/sec on 4 GPU(s): 1200.4 +-9.2",
        {
            "rate": 1200.4, "rate_unit": "images/s", "size": 4, "is_rate_of_rank": False,
            "is_mean_of_run": True,
        },
    ),
    (
        "Train Epoch: 1 [640/60000 (1%)] Loss: 2.298",
        {"epoch": 1, "epoch_ratio": 640 / 60000, "loss": 2.298},
    ),
    (
        "Epoch: [31][ 100/5005] Time 0.512 ( 0.734) Data 0.012 ( 0.211) Loss 6.9e+00 (7.0e+00)"
        " Acc@1 0.39 ( 0.10)",
        {
            "epoch": 31, "step": 100, "steps": 5005, "seconds_per_step": 0.512, "loss": 6.9,
            "is_epoch_from_zero": True,
        },
    ),
    (
        "Epoch 3:  45%|####▌     | 450/1000 [00:32<00:39, 13.93it/s, v_num=0, train_loss=0.345]",
        {
            "epoch": 3, "step": 450, "steps": 1000, "seconds_per_step": 1 / 13.93, "loss": 0.345,
            "is_epoch_from_zero": True,
        },
    ),
    (
        "Epoch 3/9 ━━━━━╺━━━━ 450/1000 0:00:32 • 0:00:39 13.93it/s train_loss: 0.345",
        {
            "epoch": 3, "epochs": 10, "step": 450, "steps": 1000, "seconds_per_step": 1 / 13.93,
            "loss": 0.345, "is_epoch_from_zero": True,
        },
    ),
    (
        "Train Epoch     #73:  82%|####  | 1027/1252 [36:43<1:25:55, 22.91s/it, loss=0.946, accuracy=77]",
        {"epoch": 73, "step": 1027, "steps": 1252, "seconds_per_step": 22.91, "loss": 0.946},
    ),
    ("Epoch 2/24", {"epoch": 2, "epochs": 24}),
    (
        "500/500 [==========] - 5s 10ms/step - loss: 0.2355 - accuracy: 0.92",
        {"step": 500, "steps": 500, "seconds_per_step": 0.01, "loss": 0.2355},
    ),
    (
        "[2024-05-05 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0,"
        " lr=[0.001], mom=[[0.9, 0.999]]",
        {"step": 10, "rank": 0, "is_step_of_run": True},
    ),
    (
        "[..] [INFO] [timer.py:260:stop] epoch=0/micro_step=100/global_step=100, RunningAvgSamplesPerSec=1.5,"
        " CurrSamplesPerSec=1790.1, MemAllocated=0.2GB",
        {
            "epoch": 0, "step": 100, "rate": 1790.1, "rate_unit": "samples/s", "is_rate_of_rank": False,
            "is_epoch_from_zero": True, "is_step_of_run": True,
        },
    ),
    (
        "{'loss': 2.3456, 'grad_norm': 1.25, 'learning_rate': 4.9e-05, 'epoch': 0.48}",
        {"loss": 2.3456, "epoch": 1, "epoch_ratio": 0.48, "is_step_of_run": True},
    ),
    (
        "{'loss': '0.5', 'epoch': '3.0'}",
        {"loss": 0.5, "epoch": 3, "epoch_ratio": 1.0, "is_step_of_run": True},
    ),
    (
        "{'train_runtime': 12.5, 'train_samples_per_second': 1784.2, 'train_steps_per_second': 13.9,"
        " 'train_loss': 0.7, 'epoch': 3.0}",
        {"rate": 1784.2, "rate_unit": "samples/s", "is_rate_of_rank": False, "is_mean_of_run": True},
    ),
    (
        "steps: 10 loss: 2.3456 iter time (s): 0.512 samples/sec: 1784.2",
        {
            "step": 10, "loss": 2.3456, "seconds_per_step": 0.512, "rate": 1784.2, "rate_unit": "samples/s",
            "is_rate_of_rank": False, "is_step_of_run": True,
        },
    ),
    (
        " iteration       10/  500000 | consumed samples:         2560 | elapsed time per iteration"
        " (ms): 4000.0 |"
        " learning rate: 1.5E-04 | global batch size:   256 | lm loss: 1.03E+01 | loss scale: 4096.0 |",
        {
            "step": 10, "steps": 500_000, "seconds_per_step": 4.0, "rate": 64.0, "rate_unit": "samples/s",
            "is_rate_of_rank": False, "loss": 10.3, "is_step_of_run": True,
        },
    ),
    (
        "Epoch: [0]  [ 100/5005]  eta: 1:23:45  lr: 0.1  img/s: 312.12  loss: 6.9123 (7.0001)  acc1: 0.39"
        " (0.10)  time: 0.5123  data: 0.0112  max mem: 1234",
        {
            "epoch": 0, "step": 100, "steps": 5005, "loss": 6.9123, "rate": 312.12, "rate_unit": "images/s",
            "seconds_per_step": 0.5123, "is_epoch_from_zero": True, "is_rate_of_rank": True,
        },
    ),
    (
        "Train: 3 [ 100/5004 (  2%)]  Loss: 6.93 (6.94)  Time: 0.312s,  820.51/s  (0.350s,  731.43/s)"
        "  LR: 1.000e-01",
        {
            "epoch": 3, "step": 100, "steps": 5004, "loss": 6.93, "rate": 820.51, "rate_unit": "images/s",
            "seconds_per_step": 0.312, "is_epoch_from_zero": True, "is_rate_of_rank": False,
        },
    ),
    (
        "2023-01-01 00:00:00 | INFO | train_inner | epoch 001:    100 / 1234 loss=12.3, nll_loss=12.1",
        {"epoch": 1, "step": 100, "steps": 1234, "loss": 12.3},
    ),
    (
        "2023/01/01 00:00:00 - mmengine - INFO - Epoch(train)  [1][  50/1234]  lr: 1.0000e-02  eta: 1:00:00"
        "  time: 0.5100  data_time: 0.0100  memory: 5000  loss: 2.3450",
        {"epoch": 1, "step": 50, "steps": 1234, "loss": 2.345, "seconds_per_step": 0.51},
    ),
    (
        "[01/01 00:00:00 d2.utils.events]:  eta: 1:00:00  iter: 19  total_loss: 2.345  loss_cls: 1.2"
        "  time: 0.5100  last_time: 0.4",
        {"step": 19, "loss": 2.345, "seconds_per_step": 0.51, "is_step_of_run": True},
    ),
    (
        "[rank0]:[titan] 2024-08-01 10:00:00,123 - root - INFO - step: 10  loss:  8.1234"
        "  memory: 20.00GiB(25.00%)  tps: 5,123  tflops: 120.10  mfu: 38.00%",
        {
            "step": 10, "loss": 8.1234, "rate": 5123.0, "rate_unit": "tokens/s", "is_step_of_run": True,
            "is_rate_of_rank": True, "rank": 0,
        },
    ),
    (
        "iter 100: loss 3.2345, time 123.45ms, mfu 30.00%",
        {"step": 100, "loss": 3.2345, "seconds_per_step": 0.12345, "is_step_of_run": True},
    ),
    (
        "completed step: 10, seconds: 4.012, TFLOP/s/device: 120.1, Tokens/s/device: 2345.6,"
        " total_weights: 65536, loss: 10.345",
        {
            "step": 10, "loss": 10.345, "seconds_per_step": 4.012, "rate": 2345.6, "rate_unit": "tokens/s",
            "is_step_of_run": True, "is_rate_of_rank": True,
        },
    ),
    (
        "Training epoch 0, iteration 10/999 | lr: 4.5e-06 | global_batch_size: 512 | global_step: 10"
        " | reduced_train_loss: 11.03 | train_step_timing in s: 4.0 | consumed_samples: 5632",
        {
            "epoch": 0, "step": 10, "steps": 1000, "loss": 11.03, "seconds_per_step": 4.0, "rate": 128.0,
            "rate_unit": "samples/s", "is_step_of_run": True, "is_epoch_from_zero": True,
            "is_rate_of_rank": False,
        },
    ),
    (
        " iteration       10/  500000 | consumed samples:         2560 | elapsed time per iteration (s): 4.00"
        " | learning rate: 1.500E-04 | global batch size:   256 | lm loss: 1.03E+01 | loss scale: 4096.0 |",
        {
            "step": 10, "steps": 500_000, "seconds_per_step": 4.0, "rate": 64.0, "rate_unit": "samples/s",
            "is_rate_of_rank": False, "loss": 10.3, "is_step_of_run": True,
        },
    ),
    (
        "      1/100      2.45G      1.234      2.345         42        640:  50%|####     | 4/8"
        " [00:05<00:00,  2.00it/s]",
        {"epoch": 1, "epochs": 100, "step": 4, "steps": 8, "seconds_per_step": 0.5},
    ),
    (
        " 50/500 ━━━━━━━━━━━━━━━━━━━━ 5s 10ms/step - accuracy: 0.1234 - loss: 2.3456 - val_loss: 9.9",
        {"step": 50, "steps": 500, "loss": 2.3456, "seconds_per_step": 0.01},
    ),
    ("500/500 - 6s - loss: 2.3456 - accuracy: 0.1234", {"step": 500, "steps": 500, "loss": 2.3456}),
    (
        "Steps:  10%|#         | 100/1000 [00:10<01:30, 10.00it/s, lr=1e-5, step_loss=0.123]",
        {"step": 100, "steps": 1000, "loss": 0.123, "seconds_per_step": 0.1},
    ),
    (
        "Epoch [2/10]:  45%|####      | 450/1000 [00:32<00:39, 10.00it/s, loss=0.345]",
        {"epoch": 2, "epochs": 10, "step": 450, "steps": 1000, "loss": 0.345, "seconds_per_step": 0.1},
    ),
    (
        "Epoch 1/10 train_loss=0.512 val_loss=0.601 time=12.3s",
        {"epoch": 1, "epochs": 10, "loss": 0.512},
    ),
    (
        "{'loss': nan, 'grad_norm': nan, 'epoch': 0.48}",
        {"is_loss_lost": True, "epoch": 1, "epoch_ratio": 0.48, "is_step_of_run": True},
    ),
    ("progress step=7 loss=nan", {"is_loss_lost": True, "step": 7, "is_step_of_run": True}),
]  # fmt: skip


def test_a_loss_that_is_no_number_is_told_until_it_is_one_again() -> None:
    found = PATTERNS.read_all(["progress step=7 loss=0.5 rank=0", "progress step=8 loss=nan rank=0"])
    assert found.is_loss_lost and found.loss == 0.5
    assert "step 8 · loss is no number (nan), before 0.5" in progress_words(found)
    again = PATTERNS.read("progress step=9 loss=0.6 rank=0", found)
    assert not again.is_loss_lost and again.loss == 0.6


def test_a_bar_over_bars_in_colours_is_read_as_the_terminal_would_show_it() -> None:
    raw = (
        b"\r  1%|          | 1/100 [00:00<00:10, 9.9it/s]\x1b[A\r"
        b"\x1b[32m  2%|\x1b[0m#         | 2/100 [00:00<00:09, 10.0it/s, loss=2.1]\r"
    )
    found = PATTERNS.read(readable(raw))
    assert (found.step, found.steps, found.loss) == (2, 100, 2.1)


@pytest.mark.parametrize(("line", "wanted"), LINES, ids=[line[:24] for line, _ in LINES])
def test_a_line_of_a_known_format(line: str, wanted: dict[str, object]) -> None:
    found = PATTERNS.read(line)
    assert {name: getattr(found, name) for name in wanted} == pytest.approx(wanted)
    assert found == Progress(**{**wanted, "rank": found.rank, "seconds_per_step": found.seconds_per_step})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line",
    [
        "Test: [ 10/196] Time 0.5 ( 0.7) Loss 6.9e+00 (7.0e+00) Acc@1 0.4",
        "Validation DataLoader 0:  45%|####▌     | 450/1000 [00:32<00:39, 13.93it/s, loss=0.3]",
        "Sanity Checking DataLoader 0:  45%|####▌     | 1/2 [00:32<00:39, 13.93it/s]",
        'data set=synthetic why="no file: step 7 loss=3"',
        "checkpoint step=3 file=/c/step-3.pt",
        "validated epoch=10 accuracy=0.93137 loss=0.27085",
        "{'eval_loss': 2.1, 'eval_runtime': 3.2, 'epoch': 1.0}",
        "Using batch=64 lr=0.1",
        "config: validation loss: 2.345",
        "Loading checkpoint shards: 100%|##########| 2/2 [00:05<00:00,  2.50s/it]",
        "Map:  45%|####      | 450/1000 [00:32<00:39, 13.93 examples/s]",
        "12.5, Tokens/s of the card before",
        "progress step=nan steps=inf loss=none samples_per_s=-3 rank=-1 size=1e9",
        "progress",
        "progress step=99999999999999999999999",
    ],
)
def test_what_tells_nothing_of_the_training(line: str) -> None:
    assert PATTERNS.read(line).is_empty


def test_a_value_in_quotes_holds_spaces_and_quotes() -> None:
    event = event_of(r'refused file="/c/a b.pt" why="cut \"in\" half"')
    assert event is not None
    assert event.pairs == {"file": "/c/a b.pt", "why": 'cut "in" half'}


@pytest.mark.parametrize(
    ("line", "rank", "rest"),
    [
        ("[1]<stdout>:text", 1, "text"),
        ("[1]<stderr>: text", 1, "text"),
        ("[1,0]<stdout>:text", 0, "text"),
        ("Thu Aug 29 16:41:02 2019[3]<stderr>:text", 3, "text"),
        ("[1,2]<stdout>:[rank5]:[E321 02:07:08] text", 5, "[E321 02:07:08] text"),
        ("[default1]:text", None, "text"),
        ("[2024-05-05 10:00:00,123] [INFO] text", None, "[2024-05-05 10:00:00,123] [INFO] text"),
        ("[999999]<stdout>:text", None, "[999999]<stdout>:text"),
    ],
)
def test_whose_line_it_is(line: str, rank: int | None, rest: str) -> None:
    assert by_rank(line) == (rank, rest)


@pytest.mark.parametrize(
    ("progress", "wanted"),
    [
        (Progress(step=250, steps=1000, epoch=3, is_step_of_run=True), 0.25),
        (Progress(epoch=3, epochs=10, step=500, steps=1000, is_epoch_from_zero=True), 0.35),
        (Progress(epoch=3, epochs=10, step=500, steps=1000), 0.25),
        (Progress(epoch=3, step=500, steps=1000), None),
        (Progress(step=500, steps=1000), 0.5),
        (Progress(epoch=2, epochs=4, epoch_ratio=0.5), 0.375),
        (Progress(step=500), None),
        (None, None),
    ],
)
def test_how_much_is_done(progress: Progress | None, wanted: float | None) -> None:
    assert fraction_done(progress) == (None if wanted is None else pytest.approx(wanted))


@given(st.lists(st.text(max_size=120) | st.sampled_from([line for line, _ in LINES]), max_size=8))
def test_any_mixture_is_read_without_a_fault(parts: list[str]) -> None:
    found = PATTERNS.read("".join(parts))
    assert found.fraction is None or 0.0 <= found.fraction <= 1.0
    for number in (found.step, found.steps, found.epoch, found.rate, found.seconds_per_step):
        assert number is None or number >= 0


@pytest.mark.parametrize(
    "unit",
    [
        "| ",
        "1/",
        "loss: ",
        "[Rank 0] ",
        "iteration 1/",
        "=",
        "global batch size: ",
        "elapsed time per iteration (ms): 1 ",
    ],
)
def test_no_line_takes_long(unit: str) -> None:
    """A pattern that walks back and forth would not be done with these within a day."""
    for head in ("", " iteration 1/2 |", "Epoch 1:  1%|", "[0]<stdout>:1/2 [=>] - ETA: 1s"):
        found = PATTERNS.read(head + unit * 5000)
        assert found.fraction is None or 0.0 <= found.fraction <= 1.0
