"""How words on the command line become numbers; what is none is told in one sentence."""

import argparse
from typing import Any

from cockpit.model.duration import parse_duration

PROMETHEUS = (
    ("url", "URL", "Prometheus URL (default: auto-detected); a password in it shows in ps"),
    ("token-file", "FILE", "bearer token for that URL; re-read for every request"),
    ("username", "NAME", "user for that URL, with --prometheus-password-file"),
    ("password-file", "FILE", "password of that user; re-read for every request"),
    ("ca-file", "FILE", "CA certificates for that URL, PEM (default: the system's)"),
)
"""Options of where metrics are, `--prometheus-...`: name, what stands for the value, help."""

FINDINGS_OUT = (
    ("to-alertmanager", "URL", "post new, acknowledged and resolved findings to an Alertmanager; or @FILE"),
    ("to-slack", "URL", "post them to a Slack-compatible webhook; a URL shows in ps, @FILE does not"),
    ("to-command", "WORDS", "run a program with each change as JSON on its standard input"),
    ("metrics-file", "FILE", "write OpenMetrics of the findings to this file"),
    ("metrics-listen", "PORT", "serve OpenMetrics at this port of loopback, or HOST:PORT"),
)
"""Options of `triage --watch`: name, what stands for the value, help."""


def seconds(text: str) -> float:
    """Above 0, at most an hour."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 3600:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid number of seconds: give more than 0, at most 3600"
        )
    return value


def speed(text: str) -> float:
    """How much faster than the wall."""
    return _number(text, "a valid speed", 0.01, 1000.0)


def warm(text: str) -> float:
    """Seconds of a day."""
    return _number(text, "a valid number of seconds", 0.0, 86_400.0)


def _number(text: str, what: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = least - 1.0
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}: give {least:g} to {most:g}")
    return value


def whole(text: str) -> int:
    """A number of at least 0."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return value


def wait_time(text: str) -> float:
    """Seconds of a duration, 0 of ""."""
    try:
        seconds = parse_duration(text) if text else 0.0
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if text and seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no time to wait: give more than 0")
    return seconds


class EngineChoice(argparse.Action):
    """Its help lists the engines, which are not imported before they are asked for."""

    @property
    def help(self) -> str:
        from cockpit.gangs import registry

        return f"{registry.options()}; else as detected"

    @help.setter  # noqa: A003
    def help(self, text: str | None) -> None:
        """argparse sets it; there is nothing to keep."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, values)
