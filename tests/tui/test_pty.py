"""The whole app in a real pseudo-terminal: keys as bytes in, a screen out."""

import re

import pytest

from tests.reliability.figures import Tell
from tests.tui.pseudo_terminal import PseudoTerminal
from tests.tui.scripted import CLIPBOARD, TITLE

ALTERNATE_SCREEN, CURSOR, MOUSE, PASTE = "1049", "25", "1000", "2004"
POINTER_SHAPE = 22
"""The one operating system command that Textual sends of its own."""
CLIPBOARD_COMMAND = 52
FORM = "New job: Horovod on PyTorch"
SIZES = ((80, 24), (200, 60))


def scripted(*arguments: str, size: tuple[int, int] = (80, 24)) -> PseudoTerminal:
    return PseudoTerminal(["-m", "tests.tui.scripted", *arguments], size)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_jobs_from_the_first_frame_to_the_page_of_one(size: tuple[int, int]) -> None:
    with scripted("--place", "jobs", size=size) as terminal:
        lines = terminal.shows("team-b/vision-pretr", "enter open", "/ filter", " GPUs", " Why")
        if size[0] >= 140:
            terminal.shows("─ Members ─")  # the detail of a row beside the list
            terminal.press("\\")
            lines = terminal.until(lambda seen: seen.count(" team-") == 9, "the list without its detail")
        assert len(lines) == size[1]
        assert lines[0].startswith(" prod-eu · ") and lines[0].rstrip().endswith("ro")
        assert "▎2 Jobs 1◔" in lines[1] and " 3 Nodes 2▲" in lines[1]
        titles = next(line for line in lines if re.search(r" Job +State ", line))
        for title in ("Job", "State", "GPUs", "Why"):
            assert re.search(rf"(?<= ){title}(?= |$)", titles), titles
        rows = [line for line in lines if " team-" in line]
        assert len(rows) == 9
        state = titles.index("State")
        assert {row[state] for row in rows} <= set("●◌◔")
        gpus = titles.index("GPUs") + len("GPUs")
        assert all(re.search(r"\d+/\d+$", row[:gpus]) for row in rows), rows
        assert "pending" in rows[0] and "no node has label" in rows[0]
        assert lines[-1].startswith(" enter open  w why  l logs")

        terminal.press("down", "down", "down", "down", "down", "enter")
        lines = terminal.shows("Members by rank", "llm-7b-sft", "24/24 allocated", "worker 2")
        assert lines[0].startswith(" prod-eu · job · ")
        terminal.press("escape")
        terminal.until(
            lambda seen: "Members by rank" not in seen and "team-c/sweep-12" in seen, "the jobs again"
        )
        terminal.press("q")
        assert terminal.ends() == 0


def test_a_filter_by_keys_and_a_question_before_a_kill() -> None:
    with scripted("--place", "jobs", "--write") as terminal:
        terminal.shows("team-a/llm-70b", "K kill")
        terminal.press("/", "s", "t", "a", "t", "e", ":", "q", "u", "e", "u", "e", "d")
        terminal.until(lambda seen: "/ state:queued" in seen and "llm-70b" not in seen, "only what is queued")
        terminal.press("enter", "K")
        terminal.shows("Kill mpijob team-a/ablation-9", "y kill", "n or esc no")
        terminal.press("n")
        terminal.until(lambda seen: "y kill" not in seen, "no question any more")
        terminal.press("ctrl+c")
        assert terminal.ends() == 0


def test_other_sizes_leave_nothing_behind() -> None:
    with scripted("--place", "now") as terminal:
        before = terminal.shows("l40s", "one cell per ", "enter open")
        terminal.resize(200, 60)
        wide = terminal.shows("GPU quota", "team-b/gpu-lq", "api 12 ms", "enter open")
        assert len(wide) == 60 and wide[-1].startswith(" enter open")
        assert sum("prod-eu" in line for line in wide) == 1
        terminal.resize(80, 24)
        terminal.until(lambda seen: seen.split("\n") == before, "the first screen again, every cell of it")
        terminal.press("q")
        assert terminal.ends() == 0


@pytest.mark.parametrize("last", ["q", "ctrl+c"])
def test_the_terminal_is_given_back_as_it_was(last: str) -> None:
    with scripted("--place", "pods") as terminal:
        terminal.shows("team-a/llm-70b", "enter open")
        modes = terminal.modes()
        assert modes[ALTERNATE_SCREEN] and not modes[CURSOR]
        terminal.press(last)
        assert terminal.ends() == 0
        modes = terminal.modes()
        assert not modes[ALTERNATE_SCREEN] and modes[CURSOR]
        assert not any(modes.get(mode) for mode in (MOUSE, "1003", "1006", PASTE, "1004"))
        assert b"Traceback" not in terminal.sent


def test_ctrl_c_leaves_from_a_dialog_and_from_a_form() -> None:
    for keys, shown in ((("?",), "Keys"), (("N",), FORM)):
        with scripted("--place", "jobs", "--write") as terminal:
            terminal.shows("team-a/llm-70b", "enter open")
            terminal.press(*keys)
            terminal.shows(shown)
            terminal.press("ctrl+c")
            assert terminal.ends() == 0


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_form_with_input_is_not_left_by_a_key_of_the_app(size: tuple[int, int]) -> None:
    with scripted("--place", "jobs", "--write", size=size) as terminal:
        terminal.shows("team-a/llm-70b", "enter open")
        terminal.press("N")
        terminal.shows(FORM)
        terminal.press(*"my-job")
        terminal.shows("my-job")
        if size[0] < 100:
            terminal.press("f3")
            terminal.until(lambda seen: FORM not in seen, "the preview over the form")
            terminal.press("3", "q")
            terminal.press("escape")
            terminal.shows(FORM, "my-job")
        terminal.press("3", "q")
        terminal.shows("my-job3q", FORM)
        terminal.press("escape")
        terminal.until(
            lambda seen: "draft kept: N brings it back" in seen and FORM not in seen,
            "the jobs, the draft kept",
        )
        terminal.press("N")
        terminal.shows("my-job3q", FORM)
        terminal.press("ctrl+c")
        terminal.shows("Leave the cockpit?")
        terminal.press("ctrl+c")
        assert terminal.ends() == 0


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("3y", (" prod-eu · Node/gpu-h100-07 · ", "what this server serves is not known yet")),
        ("5/a100\rS", (" prod-eu · scale pool a100", "now 12, requested 13", "type another number")),
        (
            "5/a100\rS16\r",
            ("Grow pool a100 from 13 to 16", "the cluster would accept it", "y or enter scale"),
        ),
        ("2/sweep-12\rw", (" prod-eu · why job team-c/sweep-12 ", "esc back")),
        ("7" + 20 * "j" + "w", (" prod-eu · why pod team-a/llm-70b-worker-8 ",)),
        ("2Ky", ("Kill replicaset team-d/assistant-5d4f", "y kill", "keys typed ahead do not count")),
    ],
    ids=ascii,
)
def test_keys_in_one_packet_do_what_they_do_one_by_one(
    keys: str, words: tuple[str, ...], size: tuple[int, int]
) -> None:
    with scripted("--write", "--growing", size=size) as terminal:
        terminal.shows("team-c/sweep-12", "enter open")
        terminal.press(keys)
        lines = terminal.shows(*words)
        assert len(lines) == size[1]
        assert not any("is not available here" in line for line in lines)
        terminal.press("ctrl+c")
        if "S1" in keys:
            terminal.shows("Leave the cockpit?")
            terminal.press("ctrl+c")
        assert terminal.ends() == 0


@pytest.mark.row(41, "foreign bytes that reached the terminal", most=0)
@pytest.mark.row(42, "crashes on pages with markup in names", most=0)
@pytest.mark.row(44, "commands to the clipboard that no key asked for", most=0)
@pytest.mark.parametrize("place", ["now", "jobs", "queues", "events", "pods"])
def test_names_cannot_take_the_terminal_over(place: str, figure: Tell) -> None:
    with scripted("--place", place, "--hostile", size=(200, 60)) as terminal:
        terminal.shows("prod-eu", "owned··]52")
        if place in ("jobs", "pods"):
            terminal.press("enter")
            terminal.shows("prod-eu", "[red]x[/red]", "Members by rank")
        assert terminal.commands() <= {POINTER_SHAPE}
        for attack in (TITLE, CLIPBOARD, "\x1b[2J\x1b[?1049l"):
            assert attack.encode() not in terminal.sent
        assert "\u202e".encode() not in terminal.sent and b"\xc2\x9b" not in terminal.sent
        assert terminal.modes()[ALTERNATE_SCREEN], "still on its own screen"
        assert terminal.lines[0].startswith(" prod-eu") and len(terminal.lines) == 60
        terminal.press("ctrl+c")
        crashes = int(terminal.ends() != 0 or b"Traceback" in terminal.sent)
        figure("foreign bytes that reached the terminal", len(terminal.foreign()))
        figure("crashes on pages with markup in names", crashes)
        figure(
            "commands to the clipboard that no key asked for", int(CLIPBOARD_COMMAND in terminal.commands())
        )


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_page_of_a_pool_that_grows_and_the_form_of_its_size(size: tuple[int, int]) -> None:
    with scripted("--place", "pools", "--write", "--growing", size=size) as terminal:
        terminal.shows("h100", "b200", "enter open")
        terminal.press("/", *"b200", "enter")
        terminal.until(lambda seen: "▌ b200" in seen and "▌ h100" not in seen, "the pool that grows")
        terminal.press("enter")
        lines = terminal.shows(" prod-eu · pool b200", "accepted 14:05:41", "HPA", "S scale")
        assert len(lines) == size[1]
        told = [line.rstrip(" │") for line in lines]
        assert any(line.endswith("machine starts, no node yet; usually 1m, now 4m50s") for line in told), told
        assert any(line.endswith("GPU driver is being installed; usually 12m, now 4m") for line in told), told
        terminal.press("S")
        terminal.shows(
            "scale pool b200", "Nodes of b200", "now 3, requested 4", "already set to 4", "esc back"
        )
        terminal.press("escape")
        terminal.until(lambda seen: "Nodes of b200" not in seen and "accepted 14:05:41" in seen, "the page")
        terminal.press("q")
        assert terminal.ends() == 0
