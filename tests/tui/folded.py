"""Lists at their full width: the detail beside their rows is folded away, as a person's choice."""

from pathlib import Path

from cockpit.local_state.state import Choice, Choices
from cockpit.screens.pages import PLACES


def fold_details(state_folder: Path) -> None:
    """Keep that choice for every place, in the folder where the cockpit keeps its state."""
    state_folder.mkdir(parents=True, exist_ok=True)
    choices = Choices(state_folder / "choices.json")
    for place in PLACES:
        assert choices.keep(place, Choice(is_detail_folded=True))
