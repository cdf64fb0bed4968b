"""How a verb is planned: what it is told, the rights it takes, and from one thing the calls of its plan.

The verbs themselves (`cockpit.actions.verbs`) name their planner, and it is imported once it is needed.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cockpit.actions.planning import Planning
from cockpit.errors import BadInput
from cockpit.model.plan import Plan
from cockpit.model.right import Right, Ways


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Of a verb that takes nothing but its targets."""


async def _no_plan(_planning: Planning, _thing: Any, _options: Any) -> Plan:
    raise TypeError("this verb is begun by its form or by its command: it has no plan of its own")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """The part of a verb that needs the cluster."""

    options: type[Any] = NoOptions
    """A frozen dataclass with a field for each flag of the verb; raises BadInput for invalid values."""
    plan: Callable[[Planning, Any, Any], Awaitable[Plan]] = _no_plan
    """From what is known, one thing and the options to the calls. Raises BadInput where it cannot be,
    Unchanged where it is so already."""
    back: Callable[[Planning, Any, Plan], Awaitable[Plan]] | None = None
    """Of a verb that removes nodes: undoes what the calls of that plan did to them. Raises Unchanged where
    nothing of it is left."""
    needs: Callable[[Planning, Any], Sequence[Right]] = lambda _planning, _thing: ()
    """The rights without which its calls would be refused; reads nothing from the server."""
    needs_any: Callable[[Planning, Sequence[Any]], Ways] | None = None
    """Where its form or dialog chooses between several targets: the rights for each of these."""
    many_lines: Callable[[Sequence[Any], Any], Iterable[str]] | None = None
    """Extra confirmation lines for a multi-selection, from (things, store)."""
    picks: Callable[[Sequence[Any], Any, float], Sequence[Any]] | None = None
    """The named things that it applies to, by (things, options, the cluster's time in seconds)."""

    def ways(self, planning: Planning, things: Sequence[Any]) -> Ways:
        """The rights it takes for each of these; any one of them will do."""
        if self.needs_any is not None:
            return self.needs_any(planning, things)
        return tuple(tuple(self.needs(planning, thing)) for thing in things)


@contextmanager
def of_flag(name: str) -> Iterator[None]:
    """BadInput that names the flag, for what is wrong with its value."""
    try:
        yield
    except (BadInput, ValueError) as error:
        raise BadInput(f"{name}: {error}") from None
