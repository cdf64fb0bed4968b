"""Lines of training logs as the usual programs write them: what is told, by the names of `Progress`.

Each format is a pattern that its line must match from its beginning on. A line that matches one is read by it
alone; the patterns of templates read the others. The formats and where they are from:

- `progress key=value ...`: our own (jobspecs/training/README.md)
- Horovod: examples/pytorch/pytorch_synthetic_benchmark.py, pytorch_mnist.py; Keras' bar in the Keras ones
- PyTorch: examples/imagenet/main.py (`ProgressMeter`), examples/mnist/main.py
- Lightning: its tqdm and rich bars (pytorch_lightning/callbacks/progress); a plain tqdm bar reads alike
- DeepSpeed: deepspeed/utils/timer.py (`ThroughputTimer`), runtime/engine.py, runtime/pipe/engine.py
- Megatron: megatron/training/training.py (`training_log`)
- torchvision (references), timm, fairseq, MMEngine, Detectron2, TorchTitan, nanoGPT, MaxText, NeMo,
  Ultralytics: the line that each prints an interval
- Hugging Face: transformers/trainer_callback.py (`PrinterCallback`), a dict a line, numbers perhaps in quotes
"""

import re
from collections.abc import Callable, Mapping
from math import ceil
from types import MappingProxyType
from typing import Final, NamedTuple

Told = dict[str, int | float | str | bool | None]
"""Fields of `Progress` that a line tells."""

_NUMBER: Final = r"[-+]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][-+]?[0-9]{1,3})?"
_LOSS: Final = rf"(?P<loss>{_NUMBER}|[-+]?(?i:nan|inf)\b)"
_PAIR: Final = re.compile(r'([a-z_]{1,40})=(?:"((?:[^"\\]|\\.)*)"|(\S*))')
MOST_PAIRS: Final = 40
MOST_EPOCHS: Final = 1e9
EVENTS: Final = frozenset(
    (
        *("progress", "started", "data", "resumed", "checkpoint", "refused", "validated", "resized"),
        *("stopping", "ended"),
    )
)
_OWN: Final = {
    "step": "step",
    "steps": "steps",
    "epoch": "epoch",
    "loss": "loss",
    "samples_per_s": "rate",
    "seconds_per_step": "seconds_per_step",
    "compute_s": "compute_seconds",
    "rank": "rank",
    "size": "size",
}
WHOLE: Final = frozenset(("step", "steps", "epoch", "epochs", "rank", "size"))
"""Fields that are whole numbers, 0 or more."""


class RunEvent(NamedTuple):
    """One line of our own form: its first word, and its pairs as they stand there."""

    name: str
    pairs: dict[str, str]


def event_of(line: str) -> RunEvent | None:
    """The event that a line tells, None for a line of another kind."""
    name, _, rest = line.partition(" ")
    if name not in EVENTS:
        return None
    pairs: dict[str, str] = {}
    for found in _PAIR.finditer(rest):
        key, quoted, plain = found.groups()
        pairs[key] = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        if len(pairs) >= MOST_PAIRS:
            break
    return RunEvent(name, pairs) if pairs else None


def _own(event: RunEvent) -> Told:
    if event.name != "progress":
        return {}
    told: Told = {"is_step_of_run": True}
    for key, field in _OWN.items():
        number = number_of(field, event.pairs.get(key))
        if number is not None:
            told[field] = number
    if "rate" in told:
        told |= {"rate_unit": "samples/s", "is_rate_of_rank": False}
    _mark_loss(told, event.pairs.get("loss"))
    return told if len(told) > 1 else {}


def _mark_loss(told: Told, text: str | None) -> None:
    """A loss that is no number is a fact of its own: the one before must not pass for it."""
    if text is not None:
        is_lost = text.lstrip("+-").lower() in ("nan", "inf", "infinity")
        if is_lost or "loss" in told:
            told["is_loss_lost"] = is_lost


def number_of(field: str, text: str | None) -> int | float | None:
    """The number that a text is for a field; None for one that is none, not finite, or out of its range."""
    if text is None or not text.isascii() or len(text) > 40:
        return None
    text = text.replace(",", "").replace("_", "")
    try:
        if field in WHOLE:
            return int(text) if text.isdigit() and len(text) <= 18 else None
        number = float(text)
    except ValueError:
        return None
    if not -1e300 < number < 1e300:
        return None
    return number if field == "loss" or number >= 0 else None


class Format(NamedTuple):
    """How one program writes. `more` turns what was read into fields, where units have to be changed."""

    name: str
    pattern: re.Pattern[str]
    constant: Mapping[str, int | float | str | bool | None] = MappingProxyType({})
    more: Callable[[dict[str, str], Told], None] | None = None


def _per_second(read: dict[str, str], told: Told) -> None:
    """`13.93it/s` or `1.20s/it`."""
    speed = number_of("rate", read.get("speed"))
    if speed:
        told["seconds_per_step"] = 1 / speed if read["speed_unit"].startswith("it") else speed


def _part(read: dict[str, str], told: Told) -> None:
    """`[640/60000`: samples of the epoch, no steps."""
    done, whole = number_of("step", read.get("done")), number_of("step", read.get("whole"))
    if done is not None and whole:
        told["epoch_ratio"] = min(1.0, done / whole)


def _keras(read: dict[str, str], told: Told) -> None:
    speed = number_of("rate", read.get("speed"))
    if speed is not None and "speed_unit" in read:
        told["seconds_per_step"] = speed * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[read["speed_unit"]]


def _megatron(read: dict[str, str], told: Told) -> None:
    """Milliseconds; seconds in what DeepSpeed and NeMo made of it."""
    elapsed, batch = number_of("rate", read.get("elapsed")), number_of("step", read.get("batch"))
    if elapsed:
        seconds = elapsed / 1e3 if read.get("elapsed_unit") == "ms" else elapsed
        told["seconds_per_step"] = seconds
        if batch:
            told |= {"rate": batch / seconds, "rate_unit": "samples/s", "is_rate_of_rank": False}


def _milliseconds(read: dict[str, str], told: Told) -> None:
    elapsed = number_of("rate", read.get("elapsed"))
    if elapsed:
        told["seconds_per_step"] = elapsed / 1e3


def _images_of_rank(_read: dict[str, str], told: Told) -> None:
    if "rate" in told:
        told |= {"rate_unit": "images/s", "is_rate_of_rank": True}


def _dict(read: dict[str, str], told: Told) -> None:
    """Epochs count what is done: 0.48 is within the first, 3.0 the end of the third. Steps are told by the
    bar beside it, which is of the whole run."""
    done = number_of("rate", read.get("done"))
    if done is not None and done < MOST_EPOCHS:
        epoch = max(1, ceil(done))
        told |= {"epoch": epoch, "epoch_ratio": done - (epoch - 1)}


def _total(read: dict[str, str], told: Told) -> None:
    told |= {"rate_unit": "images/s", "is_rate_of_rank": False, "is_mean_of_run": True}


_FROM_ZERO: Final[Told] = {"is_epoch_from_zero": True}
_OF_RUN: Final[Told] = {"is_step_of_run": True}
_SAMPLES: Final[Told] = {"rate_unit": "samples/s", "is_rate_of_rank": False}
_SAMPLES_OF_RUN: Final[Told] = {**_SAMPLES, "is_mean_of_run": True}
_BAR: Final = (
    r"\s*[0-9]{1,3}%\|[^|]{0,300}\|\s*(?P<step>[0-9]+)/(?P<steps>[0-9]+)\s*\[[0-9:?]+<[0-9:?]+,\s*"
    rf"(?P<speed>{_NUMBER}|\?)\s*(?P<speed_unit>it/s|s/it)"
    rf"(?:[^\]]{{0,300}}?\b(?i:(?:reduced_)?(?:train(?:ing)?[_/])?(?:step_|total_)?loss(?:_step)?)={_LOSS})?"
)

FORMATS: Final = (
    Format(
        "Horovod benchmark, an iteration",
        re.compile(rf"\s*Iter #(?P<step>[0-9]+): (?P<rate>{_NUMBER}) img/sec per (?:GPU|CPU)"),
        {"rate_unit": "images/s", "is_rate_of_rank": True, "is_step_of_run": True},
    ),
    Format(
        "Horovod benchmark, a rank",
        re.compile(rf"\s*Img/sec per (?:GPU|CPU): (?P<rate>{_NUMBER}) ?\+-"),
        {"rate_unit": "images/s", "is_rate_of_rank": True, "is_mean_of_run": True},
    ),
    Format(
        "Horovod benchmark, all",
        re.compile(
            rf"\s*Total img/sec on (?P<size>[0-9]+) (?:GPU|CPU)\(s\): (?P<rate>{_NUMBER})(?: ?\+-|\s*$)"
        ),
        more=_total,
    ),
    Format(
        "PyTorch MNIST, Horovod MNIST",
        re.compile(
            r"\s*Train Epoch: (?P<epoch>[0-9]+) \[(?P<done>[0-9]+)/(?P<whole>[0-9]+) \([0-9.]+%\)\]\s*"
            rf"Loss: {_LOSS}"
        ),
        more=_part,
    ),
    Format(
        "PyTorch ImageNet",
        re.compile(
            r"\s*Epoch: \[(?P<epoch>[0-9]+)\]\[\s*(?P<step>[0-9]+)/(?P<steps>[0-9]+)\]\s+"
            rf"Time\s+(?P<seconds_per_step>{_NUMBER})(?:.{{0,200}}?\bLoss\s+{_LOSS})?"
        ),
        _FROM_ZERO,
    ),
    Format(
        "Lightning",
        re.compile(rf"\s*Epoch (?P<epoch>[0-9]+)(?:/(?P<last_epoch>[0-9]+))?:(?: :)?{_BAR}"),
        _FROM_ZERO,
        _per_second,
    ),
    Format(
        "Lightning, rich",
        re.compile(
            r"\s*Epoch (?P<epoch>[0-9]+)/(?P<last_epoch>[0-9]+)\s+[━╸╺ ]{1,300}\s*"
            r"(?P<step>[0-9]+)/(?P<steps>[0-9]+)\s+[0-9:]+ • [-0-9:]+\s+"
            rf"(?P<speed>{_NUMBER})(?P<speed_unit>it/s|s/it)"
            rf"(?:.{{0,300}}?\b(?:train_)?loss(?:_step)?: {_LOSS})?"
        ),
        _FROM_ZERO,
        _per_second,
    ),
    Format(
        "tqdm",
        re.compile(
            r"(?:\s*(?i:(?:train(?:ing)? +)?epoch +[#\[]?(?P<epoch>[0-9]+)(?:/(?P<epochs>[0-9]+))?\]?"
            r"|train(?:ing)?|steps?|iterations?):?)?" + _BAR
        ),
        {},
        _per_second,
    ),
    Format(
        "Keras",
        re.compile(
            r"\s*(?P<step>[0-9]+)/(?P<steps>[0-9]+) "
            r"(?:(?:\[[=>.]{1,100}\]|[━╸╺]{1,100}) (?:- )?(?:ETA: )?[0-9:]+(?:ms|us|s)?|- [0-9]+m?s\b)"
            rf"(?: (?P<speed>{_NUMBER})(?P<speed_unit>us|ms|s)/(?:step|epoch))?"
            rf"(?:.{{0,200}}?\bloss: {_LOSS})?"
        ),
        {},
        _keras,
    ),
    Format("Keras, an epoch", re.compile(r"\s*Epoch (?P<epoch>[0-9]+)/(?P<epochs>[0-9]+)\s*$")),
    Format(
        "DeepSpeed, throughput",
        re.compile(
            r".{0,200}?\bepoch=(?P<epoch>[0-9]+)/micro_step=[0-9]+/global_step=(?P<step>[0-9]+), "
            rf"RunningAvgSamplesPerSec={_NUMBER}, CurrSamplesPerSec=(?P<rate>{_NUMBER})"
        ),
        {**_FROM_ZERO, **_OF_RUN, **_SAMPLES},
    ),
    Format(
        "DeepSpeed, a step",
        re.compile(r".{0,200}?\[Rank (?P<rank>[0-9]+)\] step=(?P<step>[0-9]+), skipped=[0-9]+"),
        _OF_RUN,
    ),
    Format(
        "DeepSpeed, pipeline",
        re.compile(
            rf".{{0,200}}?\bsteps: (?P<step>[0-9]+) loss: {_LOSS} "
            rf"iter time \(s\): (?P<seconds_per_step>{_NUMBER}) samples/sec: (?P<rate>{_NUMBER})"
        ),
        {**_OF_RUN, **_SAMPLES},
    ),
    Format(
        "Hugging Face",
        re.compile(
            rf"\s*\{{'loss': '?{_LOSS}'?(?=[,}}])"
            rf"(?:.{{0,400}}?'epoch': '?(?P<done>{_NUMBER})'?[,}}])?"
        ),
        _OF_RUN,
        _dict,
    ),
    Format(
        "Hugging Face, the end",
        re.compile(
            rf"\s*\{{'train_runtime': .{{0,200}}?'train_samples_per_second': '?(?P<rate>{_NUMBER})'?(?=[,}}])"
        ),
        {**_SAMPLES_OF_RUN},
    ),
    Format(
        "NeMo",
        re.compile(
            r".{0,60}?\bTraining epoch (?P<epoch>[0-9]+), iteration (?P<step>[0-9]+)/(?P<last_step>[0-9]+) \|"
            r"(?:.{0,200}?\bglobal_batch_size: (?P<batch>[0-9]+))?"
            rf"(?:.{{0,200}}?\breduced_train_loss: {_LOSS})?"
            rf"(?:.{{0,200}}?\btrain_step_timing in s: (?P<elapsed>{_NUMBER}))?"
        ),
        {**_FROM_ZERO, **_OF_RUN},
        _megatron,
    ),
    Format(
        "torchvision",
        re.compile(
            r"\s*Epoch: \[(?P<epoch>[0-9]+)\]\s+\[\s*(?P<step>[0-9]+)/(?P<steps>[0-9]+)\]\s+eta: "
            rf"(?:.{{0,200}}?\bimg/s: (?P<rate>{_NUMBER}))?(?:.{{0,200}}?\bloss: {_LOSS})?"
            rf"(?:.{{0,600}}?\btime: (?P<seconds_per_step>{_NUMBER}))?"
        ),
        _FROM_ZERO,
        _images_of_rank,
    ),
    Format(
        "timm",
        re.compile(
            r"\s*Train: (?P<epoch>[0-9]+) \[\s*(?P<step>[0-9]+)/(?P<steps>[0-9]+) \([ 0-9.]{1,8}%\)\]"
            rf"\s+Loss:\s+{_LOSS}.{{0,80}}?\bTime:\s+(?P<seconds_per_step>{_NUMBER})s,\s+(?P<rate>{_NUMBER})/s"
        ),
        {**_FROM_ZERO, "rate_unit": "images/s", "is_rate_of_rank": False},
    ),
    Format(
        "fairseq",
        re.compile(
            r".{0,80}?\| train_inner \| epoch (?P<epoch>[0-9]+):\s+(?P<step>[0-9]+) / (?P<steps>[0-9]+) "
            rf"loss={_LOSS}"
        ),
    ),
    Format(
        "MMEngine",
        re.compile(
            r".{0,80}?\bEpoch\(train\)\s+\[(?P<epoch>[0-9]+)\]\[\s*(?P<step>[0-9]+)/(?P<steps>[0-9]+)\]"
            rf"(?:.{{0,200}}?\btime: (?P<seconds_per_step>{_NUMBER}))?(?:.{{0,200}}?\bloss: {_LOSS})?"
        ),
    ),
    Format(
        "Detectron2",
        re.compile(
            rf".{{0,100}}?\biter: (?P<step>[0-9]+)\s+total_loss: {_LOSS}"
            rf"(?:.{{0,600}}?\btime: (?P<seconds_per_step>{_NUMBER}))?"
        ),
        _OF_RUN,
    ),
    Format(
        "TorchTitan",
        re.compile(
            rf".{{0,120}}?\bstep:\s{{1,9}}(?P<step>[0-9]+)\s+loss:\s{{1,9}}{_LOSS}"
            r".{0,120}?\btps: (?P<rate>[0-9][0-9,]{0,15})"
        ),
        {**_OF_RUN, "rate_unit": "tokens/s", "is_rate_of_rank": True},
    ),
    Format(
        "nanoGPT",
        re.compile(rf"\s*iter (?P<step>[0-9]+): loss {_LOSS}, time (?P<elapsed>{_NUMBER})ms"),
        _OF_RUN,
        _milliseconds,
    ),
    Format(
        "MaxText",
        re.compile(
            rf".{{0,120}}?\bcompleted step: (?P<step>[0-9]+), seconds: (?P<seconds_per_step>{_NUMBER}), "
            rf"TFLOP/s/device: {_NUMBER}, Tokens/s/device: (?P<rate>{_NUMBER}),"
            rf"(?:.{{0,100}}?\bloss: {_LOSS})?"
        ),
        {**_OF_RUN, "rate_unit": "tokens/s", "is_rate_of_rank": True},
    ),
    Format(
        "Ultralytics",
        re.compile(r"\s*(?P<epoch>[0-9]+)/(?P<epochs>[0-9]+)\s+[0-9.]+G\s[^%|]{0,120}:" + _BAR),
        {},
        _per_second,
    ),
    Format(
        "Megatron",
        re.compile(
            r".{0,60}?\biteration\s+(?P<step>[0-9]+)/\s*(?P<steps>[0-9]+) \|"
            rf"(?:.{{0,300}}?elapsed time per iteration \((?P<elapsed_unit>ms|s)\): (?P<elapsed>{_NUMBER}))?"
            r"(?:.{0,300}?global batch size:\s*(?P<batch>[0-9]+))?"
            rf"(?:.{{0,300}}?\b(?:lm )?loss: {_LOSS})?"
        ),
        _OF_RUN,
        _megatron,
    ),
)
_NOT_TRAINING: Final = re.compile(r"\s*(?i:test(?:ing)?|val(?:id(?:ation|ating)?)?|eval(?:uation|uating)?)\b")
"""Steps and losses of a validation are none of the training's."""


def told_by(line: str) -> Told | None:
    """What a line of a known format tells, {} for one that tells nothing of the training; None for others."""
    event = event_of(line)
    if event is not None:
        return _own(event)
    if _NOT_TRAINING.match(line):
        return {}
    for item in FORMATS:
        found = item.pattern.match(line)
        if found is None:
            continue
        read = {name: text for name, text in found.groupdict().items() if text is not None}
        told = dict(item.constant)
        for field, text in read.items():
            number = number_of(field, text) if field in _FIELDS else None
            if number is not None:
                told[field] = number
        last = number_of("epoch", read.get("last_epoch"))
        if last is not None:
            told["epochs"] = int(last) + 1
        _mark_loss(told, read.get("loss"))
        end = number_of("step", read.get("last_step"))
        if end is not None:
            told["steps"] = int(end) + 1
        if item.more is not None:
            item.more(read, told)
        return told
    return None


_FIELDS: Final = frozenset(_OWN.values()) | {"epochs"}
