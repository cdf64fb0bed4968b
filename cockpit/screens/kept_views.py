"""What a person asked each list to show: kept for the run, and for the next one but for its filter. The order
is kept for a context only: what is in trouble there is another list."""

from collections.abc import Mapping
from dataclasses import replace

from cockpit.local_state.state import Choice, Choices
from cockpit.views.view_state import ViewState


class KeptViews:
    """By place, the order also by context. Without `choices` all is kept until the end of the run."""

    def __init__(self, choices: Choices | None) -> None:
        self._choices = choices
        self._states: dict[str, ViewState] = {}
        self._orders: dict[str, Choice] = {}
        self._filters: dict[str, Mapping[str, str]] = {}

    def _kept(self, place: str) -> Choice:
        return self._choices.of(place) if self._choices else Choice()

    def of(self, place: str, context: str) -> ViewState:
        """What is asked of that place now."""
        order = self._orders.get(key := _order_key(place, context)) or self._kept(key)
        return replace(self._state(place), sort=order.sort, descending=order.descending)

    def _state(self, place: str) -> ViewState:
        if (state := self._states.get(place)) is None:
            kept = self._kept(place)
            # a filter does not outlive the run: an old one would hide rows without a reason in sight
            state = self._states[place] = ViewState(
                is_detail_folded=kept.is_detail_folded,
                shown=kept.shown,
                hidden=kept.hidden,
            )
        return state

    def keep(self, place: str, context: str, state: ViewState) -> None:
        """Remember it."""
        self._states[place] = state
        self._write(place)
        key, order = _order_key(place, context), Choice(sort=state.sort, descending=state.descending)
        self._orders[key] = order
        if self._choices is not None and self._choices.of(key) != order:
            self._choices.keep(key, order)

    def filters(self, place: str) -> Mapping[str, str]:
        """The filters of that place that are saved by name."""
        return self._filters.get(place, self._kept(place).filters)

    def keep_filters(self, place: str, filters: Mapping[str, str]) -> None:
        """These are saved from now on, and no others."""
        self._filters[place] = filters
        self._write(place)

    def _write(self, place: str) -> None:
        if self._choices is not None:
            state = self._state(place)
            choice = Choice(
                is_detail_folded=state.is_detail_folded,
                shown=state.shown,
                hidden=state.hidden,
                filters=dict(self.filters(place)),
            )
            self._choices.keep(place, choice)


def _order_key(place: str, context: str) -> str:
    return f"{place} of {context}"
