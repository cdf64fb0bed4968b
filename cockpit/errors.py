"""Failures that a person can act on: one sentence that names the field, the value and the remedy."""

import errno
from typing import TYPE_CHECKING

from cockpit.mask import clean_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cockpit.model.refusal import Refusal

LONGEST_SENTENCE = 4096


class CockpitError(Exception):
    """An expected failure, told in one clear sentence.

    `sentence` is what is printed or shown in place; `exit_code` is what the command line ends with:
    1 the cluster refused, 2 bad input or no connection. A sentence may quote a server, a file or an exception
    of a library, and goes to a terminal: here it becomes one line without control codes and secrets.
    """

    exit_code = 2

    def __init__(self, sentence: str) -> None:
        self.sentence = clean_message(sentence, LONGEST_SENTENCE)
        super().__init__(self.sentence)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a command prints, a line each: more than one where several values are wrong."""
        return (self.sentence,)


class BadInput(CockpitError):
    """A value that the person gave cannot be used."""


class NotFound(BadInput):
    """Nothing that was read is `what` (`job 'llm'`); `hint` tells names that are near."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"there is no {what}; {hint}")
        self.what, self.hint = what, hint


class Unchanged(BadInput):
    """What is asked for is so already: nothing has to be done, and nothing failed."""

    exit_code = 0


class BadValue(BadInput):
    """A value of a named field cannot be used: `fault` says why, without the field's name."""

    def __init__(self, field: str, fault: str) -> None:
        self.field, self.fault = field, clean_message(fault, LONGEST_SENTENCE)
        super().__init__(f"{field}: {fault}")


class BadValues(BadInput):
    """Values of several named fields cannot be used: `faults` says why, by field and without its name."""

    def __init__(self, faults: "Mapping[str, str]") -> None:
        self.faults = {field: clean_message(fault, LONGEST_SENTENCE) for field, fault in faults.items()}
        super().__init__("; ".join(f"{field}: {fault}" for field, fault in self.faults.items()))

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{field}: {fault}" for field, fault in self.faults.items())


class NoConnection(CockpitError):
    """The cluster, its credentials or its kubeconfig cannot be used.

    `is_unsent`: known that the request did not leave this host. Without it a write may have been carried out.
    """

    can_retry = False
    """Whether the same may work later without a person who does something here."""

    def __init__(self, sentence: str, *, is_unsent: bool = False) -> None:
        super().__init__(sentence)
        self.is_unsent = is_unsent


class NoContexts(NoConnection):
    """There is no kubeconfig, it cannot be read, or it has no contexts: there is none to choose."""


class OutcomeUnknown(NoConnection):
    """An answer came, and does not tell whether the write was carried out: 502, 504, a page of a proxy.

    `said` is the answer as data. `is_over`: the server is done with the request, so a read settles it;
    without it the request may still be under way behind a proxy.
    """

    def __init__(self, sentence: str, said: "Refusal", *, is_over: bool = False) -> None:
        super().__init__(sentence)
        self.said = said
        self.is_over = is_over


class LoginExpired(NoConnection):
    """Who the user is cannot be proved any more: a login expired, was refused, or could not be renewed.

    That is not a missing right: it is never called denied.
    """


class Answered(CockpitError):
    """The cluster answered, and did not do what was asked."""

    def __init__(self, sentence: str, said: "Refusal | None" = None) -> None:
        super().__init__(sentence)
        self._said = said

    @property
    def said(self) -> "Refusal":
        """The answer as data: what follows from it (try again, gone) is read here, never in the sentence."""
        from cockpit.model.refusal import Refusal  # here, so that --help loads no msgspec

        return self._said or Refusal()


class NotTried(Answered):
    """The server made no dry run of this request: what it would say to the request itself is not known."""


class Refused(Answered):
    """The cluster understood the request and said no; with status 0 the cockpit did, before it was sent."""

    exit_code = 1


def shortage_of(error: BaseException) -> str:
    """What this machine or a limit of this process lacks, with the remedy; "" for other errors."""
    chain: list[BaseException | None] = [error]
    while chain:
        link = chain.pop()
        if isinstance(link, BaseExceptionGroup):
            chain.extend(link.exceptions)
        if isinstance(link, MemoryError) or (isinstance(link, OSError) and link.errno == errno.ENOMEM):
            return "not enough memory; close other programs, or ask for less with --namespace"
        if isinstance(link, OSError) and link.errno in (errno.EMFILE, errno.ENFILE):
            return "too many open files; raise the limit (ulimit -n)"
        if isinstance(link, RuntimeError) and link.args == ("can't start new thread",):
            return "no thread can be started; raise the limits of memory and processes (ulimit -v, ulimit -u)"
        if link is not None:
            chain.append(link.__cause__ or (None if link.__suppress_context__ else link.__context__))
    return ""
