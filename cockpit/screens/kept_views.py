"""What a person asked each list to show, for the run, and what of it outlives the run."""

from cockpit.local_state.state import Choice, Choices
from cockpit.views.view_state import ViewState


class KeptViews:
    """By place. Without `choices` all is kept until the end of the run."""

    def __init__(self, choices: Choices | None) -> None:
        self._choices = choices
        self._states: dict[str, ViewState] = {}

    def of(self, place: str) -> ViewState:
        """What is asked of that place now."""
        if (state := self._states.get(place)) is None:
            kept = self._choices.of(place) if self._choices else Choice()
            # a filter does not outlive the run: an old one would hide rows without a reason in sight
            state = self._states[place] = ViewState(
                sort=kept.sort,
                descending=kept.descending,
                is_detail_folded=kept.is_detail_folded,
                shown=kept.shown,
                hidden=kept.hidden,
            )
        return state

    def keep(self, place: str, state: ViewState) -> None:
        """Remember it."""
        self._states[place] = state
        if self._choices is not None:
            choice = Choice(
                sort=state.sort,
                descending=state.descending,
                is_detail_folded=state.is_detail_folded,
                shown=state.shown,
                hidden=state.hidden,
            )
            self._choices.keep(place, choice)
