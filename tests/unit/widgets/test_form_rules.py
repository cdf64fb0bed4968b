"""What a field accepts: one sentence with field, value and remedy."""

import pytest
from cockpit_widgets.form_rules import fault, faults, normal
from cockpit_widgets.types import FieldSpec
from hypothesis import given, settings
from hypothesis import strategies as st

WORKERS = FieldSpec("workers", "Workers", "integer", minimum=1, maximum=512)
LEAST = FieldSpec("n", "N", "integer", minimum=0)
COUNT = FieldSpec("n", "N", "integer")
QUEUE = FieldSpec("queue", "Queue", "choice", choices=("gpu-lq", "batch-lq"))


@pytest.mark.parametrize(
    ("spec", "text", "sentence"),
    [
        (WORKERS, "4", None),
        (WORKERS, " 4 ", None),
        (WORKERS, "0", 'Workers is "0": give a whole number from 1 to 512.'),
        (WORKERS, "513", 'Workers is "513": give a whole number from 1 to 512.'),
        (WORKERS, "-3", 'Workers is "-3": give a whole number from 1 to 512.'),
        (WORKERS, "two", 'Workers is "two": give a whole number from 1 to 512, such as 1.'),
        (WORKERS, "4.0", 'Workers is "4.0": give a whole number from 1 to 512, such as 1.'),
        (WORKERS, "٤", 'Workers is "٤": give a whole number from 1 to 512, such as 1.'),
        (WORKERS, "", "Workers is empty: give a value."),
        (
            FieldSpec("n", "N", "integer", minimum=0),
            "x",
            'N is "x": give a whole number of 0 or more, such as 1.',
        ),
        (FieldSpec("n", "N", "integer", maximum=9), "10", 'N is "10": give a whole number of 9 or less.'),
        (
            FieldSpec("n", "N", "integer"),
            "1" * 30,
            f'N is "{"1" * 30}", which is too large: give a whole number.',
        ),
        (FieldSpec("n", "N", "integer", required=False), "", None),
        (QUEUE, "gpu-lq", None),
        (QUEUE, "x", 'Queue is "x", which is not available: choose one of gpu-lq, batch-lq.'),
        (FieldSpec("q", "Queue", "choice"), "", "Queue is empty, and there is nothing to choose from."),
        (FieldSpec("s", "Elastic", "switch"), "maybe", 'Elastic is "maybe": give true or false.'),
        (FieldSpec("s", "Elastic", "switch"), "false", None),
        (FieldSpec("t", "Image"), "  ", "Image is empty: give a value."),
        (FieldSpec("t", "Command", "multiline"), "\n\n", "Command is empty: give a value."),
        (FieldSpec("t", "Note", required=False), "", None),
    ],
)
def test_the_sentence_names_field_value_and_remedy(spec: FieldSpec, text: str, sentence: str | None) -> None:
    assert fault(spec, text) == sentence


def test_long_lists_of_choices_are_cut() -> None:
    spec = FieldSpec("q", "Queue", "choice", choices=tuple(f"queue-{n}" for n in range(9)))
    assert fault(spec, "x") is not None
    assert "queue-3 and 5 more" in str(fault(spec, "x"))
    assert "queue-4" not in str(fault(spec, "x"))


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from(["text", "integer", "choice", "multiline", "switch"]),
    st.text(max_size=60),
    st.none() | st.integers(-9, 9),
    st.none() | st.integers(-9, 9),
    st.booleans(),
)
def test_any_text_gets_an_answer_on_one_printable_line(
    kind: str, text: str, least: int | None, most: int | None, required: bool
) -> None:
    kinds = {"text": "text", "integer": "integer", "choice": "choice", "multiline": "multiline"}
    spec = FieldSpec(
        "f",
        "Field",
        kinds.get(kind, "switch"),  # type: ignore[arg-type]
        minimum=least,
        maximum=most,
        choices=("a", "b"),
        required=required,
    )
    sentence = fault(spec, text)
    if sentence is not None:
        assert sentence.startswith("Field is ")
        assert sentence.endswith(".")
        assert sentence.isprintable()
    elif spec.kind == "integer" and text.strip():
        number = int(normal(spec, text))
        assert least is None or number >= least
        assert most is None or number <= most


def test_values_are_handed_on_without_blanks_around() -> None:
    assert normal(FieldSpec("t", "T"), "  a b ") == "a b"
    assert normal(WORKERS, " 007 ") == "7"
    assert normal(WORKERS, " x ") == "x"
    assert normal(FieldSpec("m", "M", "multiline"), "  a\n  b\n") == "  a\n  b\n"
    assert normal(FieldSpec("s", "S", "switch"), "") == "false"


def test_faults_come_in_the_order_of_the_fields() -> None:
    assert list(faults([QUEUE, WORKERS], {})) == ["queue", "workers"]
