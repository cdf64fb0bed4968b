"""Sets of completion indexes as a Job's status writes them: `0-3,5,7,8`."""

from collections.abc import Iterable

from cockpit.sim.port import Tree

INDEX_KEY = "batch.kubernetes.io/job-completion-index"
"""Annotation and label of a pod of an Indexed Job."""


def parse_indexes(text: str, completions: int) -> set[int]:
    """Indexes below `completions`; what is no number is left out, as the real controller does."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            found.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return found


def format_indexes(indexes: Iterable[int]) -> str:
    """Intervals of three and more with a dash, all else with commas."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(
        str(first) if first == last else f"{first}{',' if last == first + 1 else '-'}{last}"
        for first, last in runs
    )


def index_of(pod: Tree) -> int | None:
    """The completion index of a pod, None for one without."""
    text = (pod["metadata"].get("annotations") or {}).get(INDEX_KEY, "")
    return int(text) if text.isdigit() else None


def first_free(taken: set[int], count: int, completions: int) -> list[int]:
    """The lowest `count` indexes below `completions` that are not taken."""
    found: list[int] = []
    for index in range(completions):
        if len(found) >= count:
            break
        if index not in taken:
            found.append(index)
    return found
