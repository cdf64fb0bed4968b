"""What a field accepts, said in one sentence that names field, value and remedy. Pure."""

from collections.abc import Mapping, Sequence

from cockpit_widgets.text import cut
from cockpit_widgets.types import FieldSpec

YES = "true"
NO = "false"
_SHOWN_CHOICES = 4


def _quoted(text: str) -> str:
    return f'"{cut(text, 32)}"'


def _range(spec: FieldSpec) -> str:
    if spec.minimum is not None and spec.maximum is not None:
        return f"from {spec.minimum} to {spec.maximum}"
    if spec.minimum is not None:
        return f"of {spec.minimum} or more"
    if spec.maximum is not None:
        return f"of {spec.maximum} or less"
    return ""


def _example(spec: FieldSpec) -> int:
    if spec.minimum is not None:
        return max(spec.minimum, 1) if spec.maximum is None or spec.maximum >= 1 else spec.minimum
    return 1 if spec.maximum is None else min(spec.maximum, 1)


def _integer_fault(spec: FieldSpec, text: str) -> str | None:
    wanted = " ".join(part for part in ("a whole number", _range(spec)) if part)
    # ASCII only: int() also takes digits of other scripts, which no API server would.
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        return f"{spec.label} is {_quoted(text)}: give {wanted}, such as {_example(spec)}."
    if len(digits) > 18:
        return f"{spec.label} is {_quoted(text)}, which is too large: give {wanted}."
    number = int(text)
    too_small = spec.minimum is not None and number < spec.minimum
    if too_small or (spec.maximum is not None and number > spec.maximum):
        return f"{spec.label} is {_quoted(text)}: give {wanted}."
    return None


def _choice_fault(spec: FieldSpec, text: str) -> str | None:
    if text in spec.choices:
        return None
    shown = ", ".join(cut(choice, 24) for choice in spec.choices[:_SHOWN_CHOICES])
    more = len(spec.choices) - _SHOWN_CHOICES
    listed = f"{shown} and {more} more" if more > 0 else shown
    return f"{spec.label} is {_quoted(text)}, which is not available: choose one of {listed}."


def fault(spec: FieldSpec, text: str) -> str | None:
    """Why `text` cannot be the value of this field, in one sentence; None when it can."""
    if spec.kind == "switch":
        return None if text in {YES, NO} else f"{spec.label} is {_quoted(text)}: give {YES} or {NO}."
    if not text.strip():
        if spec.kind == "choice" and not spec.choices and spec.required:
            return f"{spec.label} is empty, and there is nothing to choose from."
        return f"{spec.label} is empty: give a value." if spec.required else None
    if spec.kind == "integer":
        return _integer_fault(spec, text.strip())
    if spec.kind == "choice":
        return _choice_fault(spec, text)
    return None


def faults(specs: Sequence[FieldSpec], values: Mapping[str, str]) -> dict[str, str]:
    """The sentence of every field that cannot stay as it is, by field id, in the order of the fields."""
    found: dict[str, str] = {}
    for spec in specs:
        sentence = fault(spec, values.get(spec.id, ""))
        if sentence is not None:
            found[spec.id] = sentence
    return found


def normal(spec: FieldSpec, text: str) -> str:
    """The value as it is handed on: one-line kinds without blanks around, integers in their shortest form."""
    if spec.kind in {"multiline", "choice"}:
        return text
    text = text.strip()
    if spec.kind == "integer" and _integer_fault(spec, text) is None:
        return str(int(text))
    if spec.kind == "switch" and not text:
        return NO
    return text
