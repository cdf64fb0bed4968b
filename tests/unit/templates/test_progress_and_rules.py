"""Log patterns, lint rules of a document, a template of one's own, and the verdict of a smoke test."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.actions.smoke import judge
from cockpit.errors import BadInput
from cockpit.jobs.progress import Patterns, Progress
from cockpit.jobs.render import remarks
from cockpit.jobs.template import load_library, read_template, renamed
from tests.unit.templates.builders import MANIFEST, text

TEMPLATES = load_library().templates
PATTERNS = Patterns(TEMPLATES["mpijob"].progress)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("Epoch 3/90 step 120/500 loss=2.31", Progress(epoch=3, epochs=90, step=120, steps=500, loss=2.31)),
        ("[1,0]<stdout>:Epoch: [2] batch 7", Progress(epoch=2, step=7, rank=0)),
        (
            "iter 40 loss: 1.5e-3 | 1,204.5 images/s",
            Progress(step=40, loss=0.0015, rate=1204.5, rate_unit="images/s"),
        ),
        ("throughput 88000 tokens/s", Progress(rate=88000.0, rate_unit="tokens/s")),
        ("loss 3.6766 images/sec 9089.3", Progress(loss=3.6766, rate=9089.3, rate_unit="images/s")),
        ("step 7/9 tokens/s 1,204 mfu 0.4", Progress(step=7, steps=9, rate=1204.0, rate_unit="tokens/s")),
        ("throughput: 9919 images/s 31 ms", Progress(rate=9919.0, rate_unit="images/s")),
        ("samples/sec: 88.5, gpus 8", Progress(rate=88.5, rate_unit="samples/s")),
        ("epoch 4 of 10", Progress(epoch=4, epochs=10)),
        ("loss=nan", Progress()),
        ("stepping stones, epochal losses", Progress()),
        ("", Progress()),
    ],
)
def test_a_line_of_a_log_is_read(line: str, wanted: Progress) -> None:
    assert PATTERNS.read(line) == wanted


def test_lines_add_up_and_a_new_epoch_begins_its_steps_anew() -> None:
    found = PATTERNS.read_all(["epoch 1/4 step 50/100", "loss: 2.0", "noise"])
    assert (found.epoch, found.step, found.loss) == (1, 50, 2.0)
    assert found.fraction == pytest.approx(0.125)
    found = PATTERNS.read("epoch 2/4", found)
    assert (found.epoch, found.step, found.steps) == (2, 0, 100)
    assert PATTERNS.read("noise", found) is found


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_line_is_read_without_a_fault(first: str, second: str) -> None:
    found = PATTERNS.read_all([first, second])
    assert found.fraction is None or 0.0 <= found.fraction <= 1.0


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(0, 10**9), st.integers(1, 10**9))
def test_the_fraction_stays_between_nothing_and_all(epoch: int, epochs: int, step: int, steps: int) -> None:
    found = Progress(epoch=epoch, epochs=epochs, step=step, steps=steps).fraction
    assert found is not None
    assert 0.0 <= found <= 1.0


RULES = """lint:
  - {warn: "no queue", missing: [queue]}
  - {warn: "much", given: [command], matches: {workers: '^6'}}
  - {reads: command, pattern: '-np (?P<ranks>[0-9]+)', expect: {ranks: {$product: [workers, gpus]}}}
"""


def test_rules_speak_when_they_should() -> None:
    template = read_template(text(more=RULES), "t.yaml")
    assert remarks(template, {"name": "a"}) == ("no queue",)
    assert remarks(template, {"name": "a", "queue": "q", "command": "run -np 2"}) == ()
    said = remarks(template, {"name": "a", "queue": "q", "command": "run -np 3", "workers": "6"})
    assert said == ("much", "command says 3 ranks, but workers x gpus is 6")


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("- {warn: w}", "it always warns"),
        ("- {warn: w, given: [nobody]}", "no parameter 'nobody'"),
        ("- {warn: w, given: [queue], when: x}", "unknown field"),
        ("- {given: [queue]}", "either `warn` or `reads`"),
        ("- {reads: command, pattern: '('}", "not a regular expression"),
        ("- {reads: command, pattern: 'x', expect: {a: {$param: gpus}}}", "has no group of this name"),
        ("- {reads: command, pattern: '(?P<a>x)', expect: {a: {$param: queue}}}", "only an integer"),
        ("- {reads: command, pattern: '(?P<a>x)', expect: {a: 3}}", "a $product or an integer $param"),
        ("- {reads: command, pattern: '(?P<a>x)', expect: {a: {$param: command}}}", "only an integer can be"),
        ("- {warn: w, matches: {queue: '['}}", "not a regular expression"),
        ("- {warn: w, given: queue}", "a list of parameters"),
    ],
)
def test_a_broken_rule_is_refused_with_its_place(rule: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=r"^t.yaml:[0-9]+: lint") as caught:
        read_template(text(more=f"lint:\n  {rule}\n"), "t.yaml")
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("marker", "sentence"),
    [
        ("{$when: queue}", "it needs $then"),
        ("{$when: queue, $is: fast, $then: 1}", "'fast' is not among the choices of queue"),
        ("{$when: nobody, $then: x}", "no parameter 'nobody'"),
        ("{$when: queue, $then: x, $also: y}", "must be the only key"),
        ("{$lookup: queue, $by: name}", "only a parameter of type table"),
        ("{$env: command}", "only a parameter of type environment, inside a list"),
        ("{$keyed: {queue: 1}}", "can be a key"),
        ("{$pairs: queue}", "only a parameter of type labels or annotations or resources"),
        ("{$first: queue}", "a list of markers"),
    ],
)
def test_a_marker_that_cannot_be_filled_is_refused(marker: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_template(text(manifest=MANIFEST + f"    extra: {marker}\n"), "t.yaml")
    assert sentence in caught.value.sentence
    assert caught.value.sentence.startswith("t.yaml:")


@pytest.mark.parametrize("source", TEMPLATES.values(), ids=lambda one: str(one.name))
def test_a_template_of_ones_own_begins_as_a_copy(source: object) -> None:
    known = TEMPLATES[source.name]  # type: ignore[attr-defined]
    before = Path(known.source).read_text(encoding="utf-8")
    made = renamed(before, known.source, "of-my-own")
    again = read_template(made, known.source)
    assert again.name == "of-my-own"
    assert (again.parameters, again.manifest, again.lint) == (known.parameters, known.manifest, known.lint)
    assert sum(one != other for one, other in zip(before.split("\n"), made.split("\n"), strict=True)) == 1
    with pytest.raises(BadInput, match="is not a valid name"):
        renamed(before, known.source, "Not A Name")


TWO = [
    "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)",
    "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)",
    "0, NVIDIA H100 80GB HBM3, 81559 MiB, 31, 0",
    "1, NVIDIA H100 80GB HBM3, 81559 MiB, 32, 0",
]


@pytest.mark.parametrize(
    ("lines", "exit_code", "asked", "is_pass", "sentence"),
    [
        (TWO, 0, 2, True, "2 of 2 cards answered: NVIDIA H100 80GB HBM3"),
        (TWO[:1], 0, 2, False, "1 of 2 cards answered"),
        ([], 0, 1, False, "0 of 1 card answered"),
        (TWO, 1, 2, False, "exit code 1: 1, NVIDIA H100 80GB HBM3, 81559 MiB, 32, 0"),
        ([], 127, 1, False, "exit code 127: it printed nothing"),
        ([*TWO[:3], "1, H100, 81559 MiB, 32, 7"], 0, 2, False, "GPU 1 counts 7 uncorrected memory errors"),
        (["No devices were found"], 0, 1, False, "No devices were found"),
        (["Failed to initialize NVML: Driver mismatch"], 1, 1, False,
         "Failed to initialize NVML: Driver mismatch"),
        ([], None, 1, False, "it never ran"),
    ],
)  # fmt: skip
def test_the_verdict_of_a_smoke_test(
    lines: list[str], exit_code: int | None, asked: int, is_pass: bool, sentence: str
) -> None:
    found = judge(lines, exit_code=exit_code, asked=asked)
    assert (found.is_pass, found.sentence) == (is_pass, sentence)


def test_a_command_of_ones_own_is_judged_by_its_end() -> None:
    assert judge(["all well"], exit_code=0, asked=4, is_own_command=True).is_pass
    assert not judge(["all well"], exit_code=2, asked=4, is_own_command=True).is_pass
