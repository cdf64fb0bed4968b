"""A night seen in a real terminal: the cockpit opened fresh, every row of *Now* walked down and asked why."""

import tempfile
from pathlib import Path

from tests.triage.night import Incident, Night
from tests.triage.night_server import night_served
from tests.tui.folded import fold_details
from tests.tui.pseudo_terminal import PseudoTerminal

SIZES = ((80, 24), (200, 60))
LEADS = ("It would start if", "What helps (")
_CURSOR = "▌"
WALKS = 3
FIRST_ROW = "g"


def complaints_seen(seed: int, size: tuple[int, int]) -> list[str]:
    """What the terminal does not show: as many rows as incidents, each led on by `w` to what names it."""
    with tempfile.TemporaryDirectory() as folder, night_served(seed, Path(folder)) as (one, kubeconfig):
        home = {"XDG_STATE_HOME": f"{folder}/state", "XDG_CONFIG_HOME": f"{folder}/config"}
        fold_details(Path(folder, "state", "gpu-cockpit"))  # what helps is to be seen on the page of `w`
        words = ["-m", "cockpit", "--context", "admin", "--write"]
        with PseudoTerminal(words, size, {"KUBECONFIG": str(kubeconfig), **home}) as terminal:
            missing = _walk(terminal, one)
            terminal.press("ctrl+c")
            code = terminal.ends()
    return missing + ([f"it ended with {code}"] if code else [])


def _walk(terminal: PseudoTerminal, one: Night) -> list[str]:
    """Ask `w` of each row from the first to the last one. Ranks change while one walks, and a row that moves
    up is passed by: what is missing then is looked for once more."""
    count = len(one.incidents)
    titles = (f"Needs a human {count}", f"{count} causes ·")
    """Of a list alone, and of one in a panel."""

    def is_listed(seen: str) -> bool:
        return any(title in seen for title in titles)

    terminal.until(lambda seen: is_listed(seen) and "enter open" in seen, "all rows")
    missing = list(one.incidents)
    for _ in range(WALKS):
        terminal.press(FIRST_ROW)
        for _at in one.incidents:
            row = _row(terminal.lines)
            terminal.press("w")
            terminal.until(lambda seen: not is_listed(seen) and _leads(seen), "what helps")
            page = " ".join("\n".join([*row, *terminal.lines]).split())
            missing = [incident for incident in missing if not _is_named(incident, page)]
            if not missing:
                return []
            terminal.press("escape")
            terminal.until(lambda seen: is_listed(seen) and not _leads(seen), "the rows again")
            terminal.press("down")
    return [f"{incident.kind}: no row led to a page with {_names(incident)}" for incident in missing]


def _leads(seen: str) -> bool:
    return any(lead in seen for lead in LEADS)


def _row(lines: list[str]) -> list[str]:
    """The line under the cursor, and at the foot its sentence where the line has no room for it."""
    return [*(line for line in lines if _CURSOR in line[:3]), *lines[-3:-1]]


def _names(incident: Incident) -> tuple[str, ...]:
    return (incident.subject.rpartition(" ")[2], *incident.names)


def _is_named(incident: Incident, page: str) -> bool:
    """Whether the page, with the blanks of folding taken out, names cause and object."""
    return all(any(one in page for one in name.split("|")) for name in _names(incident))
