"""Failures that a person can act on: one sentence that names the field, the value and the remedy."""


class CockpitError(Exception):
    """An expected failure, told in one clear sentence.

    `sentence` is what is printed or shown in place; `exit_code` is what the command line ends with:
    1 the cluster refused, 2 bad input or no connection.
    """

    exit_code = 2

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class BadInput(CockpitError):
    """A value that the person gave cannot be used."""


class NoConnection(CockpitError):
    """The cluster, its credentials or its kubeconfig cannot be used."""


class Refused(CockpitError):
    """The cluster understood the request and said no."""

    exit_code = 1
