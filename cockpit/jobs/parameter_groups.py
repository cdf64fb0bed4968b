"""Sections of a template's form: which parameters stand in which, and one line about each."""

from collections.abc import Mapping, Sequence
from typing import Final

from cockpit.jobs.parameters import Parameter

SECTIONS: Final = {
    "what": "What",
    "where": "Where",
    "how-many": "How many",
    "data": "Data",
    "advanced": "Advanced",
}
"""Title of each section by its name in a template, in the order of the form."""
_TYPED_PARTS: Final = ("claims", "host-paths", "config-maps", "secrets")
_WIDEST_VALUE = 40


def sections(parameters: Sequence[Parameter]) -> dict[str, str]:
    """Title of the section of each parameter, by name; {} where the template has no sections.

    A parameter without a group stands in the last section. The order is that of the sections.
    """
    if not any(parameter.group for parameter in parameters):
        return {}
    return {
        parameter.name: title
        for group, title in SECTIONS.items()
        for parameter in parameters
        if (parameter.group or "advanced") == group
    }


def summary(parameters: Sequence[Parameter], title: str, values: Mapping[str, str]) -> str:
    """One line about a folded section: its size in GPUs, and every value that is not the default."""
    its = [parameter for parameter in parameters if SECTIONS.get(parameter.group or "advanced") == title]
    is_size = {"workers", "gpus"} <= {parameter.name for parameter in its}
    words = [_size(values)] if is_size else []
    words += [
        word
        for parameter in its
        if not (is_size and parameter.name in ("workers", "gpus"))
        and (word := _word(parameter, values.get(parameter.name, ""), is_bare=title in ("What", "Where")))
    ]
    if words := [word for word in words if word]:
        return " · ".join(words)
    return f"{len(its)} settings at their defaults" if len(its) > 1 else "at its default"


def _size(values: Mapping[str, str]) -> str:
    """`4 x 8 GPUs = 32`; "" as long as one of the numbers is none."""
    workers, gpus = values.get("workers", ""), values.get("gpus", "")
    if not (workers.isdecimal() and gpus.isdecimal()):
        return ""
    return f"{int(workers)} x {int(gpus)} GPU{'s' * (int(gpus) != 1)} = {int(workers) * int(gpus)}"


def _word(parameter: Parameter, value: str, *, is_bare: bool) -> str:
    """What a value says in a summary; "" for a default, except where the field leads its section."""
    text = value.strip()
    is_default = text == (parameter.default or "")
    if not text or (is_default and not (is_bare and parameter.name in ("command", "namespace"))):
        return ""
    if parameter.type in _TYPED_PARTS:
        return ", ".join(part.replace(":", " → ", 1) for part in text.split())
    if parameter.type == "switch":
        return parameter.title.lower() if text == "true" else f"not {parameter.title.lower()}"
    shown = text if len(text) <= _WIDEST_VALUE else f"{text[: _WIDEST_VALUE - 1]}…"
    if is_bare or parameter.type == "git":
        return shown.removeprefix("https://")
    return f"{parameter.title.lower()} {shown}" if parameter.type != "revision" else f"@{shown}"
