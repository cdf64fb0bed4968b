"""What the engine says of each case, held against what the script says."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cockpit.model.finding import Finding
from cockpit.model.sureness import Sureness
from cockpit.triage.advice import advised
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from tests.triage.case import Case
from tests.triage.hands import Hands, hands_of
from tests.triage.order import told_first
from tests.triage.world import view_of

RIGHT_SHARE = 0.97
OFFERED_SHARE = 0.70
"""Of the cases whose remedy is in somebody's hands."""
LONGEST = 100
_LEFT_OF_A_NAME = 6
"""Letters that a shortened name must keep."""


@dataclass(frozen=True)
class Judgement:
    """One case's verdict. `missing` are names that its sentence lacks."""

    case: Case
    verdict: Finding
    missing: tuple[str, ...]

    @property
    def is_cause_right(self) -> bool:
        """The top cause is the injected one, or its second one where that lasts longer."""
        return self.verdict.cause in told_first(self.case)[0]

    @property
    def is_short(self) -> bool:
        """The sentence fits its line."""
        return 0 < len(self.verdict.sentence) <= LONGEST

    @property
    def is_right(self) -> bool:
        """Cause, names and length."""
        return self.is_cause_right and not self.missing and self.is_short

    @property
    def hands(self) -> Hands:
        """Whose hands the remedy is in."""
        return hands_of(self.case)

    @property
    def is_offered(self) -> bool:
        """A change is offered, and each of them was tried."""
        return bool(self.verdict.changes) and all(one.is_checked for one in self.verdict.changes)

    @property
    def is_wrong_with_proof(self) -> bool:
        """The worst there is: another cause, and sure of it."""
        return not self.is_cause_right and self.verdict.sureness is Sureness.PROVED

    @property
    def result(self) -> str:
        """right, or what is not."""
        if self.is_right:
            return "right"
        if not self.is_cause_right:
            said = self.verdict.cause or "no cause"
            return f"{said}, *proved*" if self.is_wrong_with_proof else said
        if self.missing:
            return f"does not name {', '.join(self.missing)}"
        return f"{len(self.verdict.sentence)} characters"

    def line(self) -> str:
        """For a failure's message."""
        wanted = ", ".join(self.case.file.names)
        return f"{self.case.name}: {self.result} (wants {wanted}): {self.verdict.sentence!r}"


def is_named(name: str, sentence: str) -> bool:
    """Whether a sentence holds a name whole, or with its middle left out; capitals do not matter.

    Digits are a number of their own: 8 is not named by 80. `a|b` is named by either.
    """
    if "|" in name:
        return any(is_named(one, sentence) for one in name.split("|"))
    whole, said = name.lower(), sentence.lower()
    if whole.isdigit():
        return re.search(rf"(?<![\d.]){whole}(?!\d)", said) is not None
    if whole in said:
        return True
    for head, tail in re.findall(r"([^\s…]+)…([^\s…,:;]+)", said):
        is_shortened = any(whole.startswith(head[start:]) for start in range(len(head)) if head[start:])
        if is_shortened and len(head) + len(tail) >= _LEFT_OF_A_NAME and whole.endswith(tail.rstrip(".)\"'")):
            return True
    return False


def judged(cases: Iterable[Case], view: Callable[[Case], ClusterView] = view_of) -> list[Judgement]:
    """The engine asked about every case, and what it would do about it: as *Why* and `cockpit why` do."""
    found = []
    for one in cases:
        known = view(one)
        verdict = advised(explain(one.file.subject, known), known)
        wanted = one.file.names if verdict.cause == one.file.top else ()
        missing = tuple(name for name in wanted if not is_named(name, verdict.sentence))
        found.append(Judgement(one, verdict, missing))
    return found


def reaches_bars(found: Sequence[Judgement]) -> bool:
    """At least 97 % of top causes right, none wrong that is proved, each sentence short and naming all."""
    right = sum(one.is_cause_right for one in found)
    return (
        right >= RIGHT_SHARE * len(found)
        and not any(one.is_wrong_with_proof for one in found)
        and all(one.is_short and not one.missing for one in found if one.is_cause_right)
    )


def in_hands(found: Iterable[Judgement]) -> list[Judgement]:
    """Those whose remedy is in a user's or an admin's hands."""
    return [one for one in found if one.hands.is_somebody]


def offers_enough(found: Sequence[Judgement]) -> bool:
    """An offer in at least 70 % of the cases whose remedy is in somebody's hands."""
    due = in_hands(found)
    return sum(one.is_offered for one in due) >= OFFERED_SHARE * len(due)


def offer_figures(found: Sequence[Judgement]) -> str:
    """One line: in how many of those that are due an offer is made."""
    due = in_hands(found)
    if not due:
        return "no case whose remedy is in somebody's hands"
    made = sum(one.is_offered for one in due)
    besides = sum(one.is_offered for one in found) - made
    return (
        f"remedy in a user's or admin's hands in {len(due)}, an offer made in {made} of these"
        f" ({made / len(due):.0%}) and in {besides} others"
    )


def figures(found: Sequence[Judgement]) -> str:
    """One line: how many, how many right, how many wrong with proof."""
    if not found:
        return "no cases"
    causes = sum(one.is_cause_right for one in found)
    whole = sum(one.is_right for one in found)
    proved = sum(one.is_wrong_with_proof for one in found)
    real = sum(one.case.file.recorded.is_real for one in found)
    double = [one for one in found if one.case.file.also]
    seen = sum(
        set(one.case.file.also) <= {one.case.file.top, one.verdict.cause, *one.verdict.also} for one in double
    )
    return (
        f"{len(found)} cases, {real} recorded from components, {len(double)} with a second cause; "
        f"top cause right in {causes} ({causes / len(found):.0%}), with names and length in {whole} "
        f"({whole / len(found):.0%}), second cause seen in {seen} of {len(double)}, "
        f"wrong with proof {proved}"
    )
