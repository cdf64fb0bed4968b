"""State words with their glyphs and tones: colour never carries meaning alone."""

from collections.abc import Iterable

from cockpit_widgets.types import Cell, Tone

from cockpit.k8s.waiting_reasons import Severity, waiting_reason
from cockpit.model.batch import Phase, StreamStatus
from cockpit.model.job import JobState
from cockpit.model.namespaces import EVERY, Namespaces, namespaces_of
from cockpit.model.pod import Pod
from cockpit.pools.stage import NodeStage

_JOB: dict[str, tuple[str, Tone]] = {
    JobState.SCHEDULED: ("◷", "dim"),
    JobState.QUEUED: ("◌", "info"),
    JobState.PENDING: ("◔", "warn"),
    JobState.STARTING: ("◑", "info"),
    JobState.RUNNING: ("●", "good"),
    JobState.DEGRADED: ("▲", "bad"),
    JobState.SUSPENDED: ("‖", "dim"),
    JobState.FINISHING: ("◂", "dim"),
    JobState.SUCCEEDED: ("✓", "dim"),
    JobState.FAILED: ("×", "bad"),
    JobState.UNKNOWN: ("?", "dim"),
}

JOB_URGENCY = (
    JobState.DEGRADED,
    JobState.PENDING,
    JobState.STARTING,
    JobState.QUEUED,
    JobState.SUSPENDED,
    JobState.SCHEDULED,
    JobState.RUNNING,
    JobState.FINISHING,
    JobState.UNKNOWN,
    JobState.FAILED,
    JobState.SUCCEEDED,
)
"""The own order of the jobs table: what may need a person first, what has ended last."""


def job_cell(state: str) -> Cell:
    """A job's state: glyph, word, tone. An unheard-of word is shown as it is."""
    glyph, tone = _JOB.get(state, ("?", "dim"))
    return Cell(f"{glyph} {state or JobState.UNKNOWN}", tone)


def job_urgency(state: str) -> int:
    """Place of a state in the own order, the smaller the more urgent."""
    return JOB_URGENCY.index(state) if state in JOB_URGENCY else len(JOB_URGENCY)


_NODE: dict[str, tuple[str, Tone]] = {
    "joined": ("◔", "info"),
    "ready": ("●", "good"),
    "GPUs not advertised": ("▲", "warn"),
    NodeStage.NEVER_CAME: ("×", "bad"),
    NodeStage.GONE: ("×", "bad"),
    NodeStage.UNHEALTHY: ("×", "bad"),
    "GPUs up": ("●", "good"),
    "used": ("●", "good"),
    "cordoned": ("‖", "warn"),
    "draining": ("◂", "warn"),
    "not ready": ("×", "bad"),
    "leaving": ("◂", "dim"),
}
_NODE_WORDS = {"joined": "joining", "GPUs up": "ready", "used": "ready", "GPUs not advertised": "no GPUs yet"}


def node_cell(stage: str) -> Cell:
    """A node's stage (words of `cockpit.pools.stage.NodeStage`) as the nodes table says it."""
    glyph, tone = _NODE.get(stage, ("?", "dim"))
    return Cell(f"{glyph} {_NODE_WORDS.get(stage, stage)}", tone)


DRAIN_STAGES = ("cordoned", "draining")
"""Stages of a node of which a drain says more; in any other it is worse off."""


def _by_glyph(words: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Of (glyph, word): each glyph with all its words."""
    found: dict[str, dict[str, None]] = {}
    for glyph, word in words:
        found.setdefault(glyph, {})[word] = None
    return {glyph: ", ".join(said) for glyph, said in found.items()}


def job_signs() -> dict[str, str]:
    """What the glyphs of jobs mean."""
    return _by_glyph((glyph, word) for word, (glyph, _) in _JOB.items())


def node_signs() -> dict[str, str]:
    """What the glyphs of nodes mean."""
    return _by_glyph((glyph, _NODE_WORDS.get(word, word)) for word, (glyph, _) in _NODE.items())


def pod_signs() -> dict[str, str]:
    """What the glyphs of pods mean."""
    return {_GLYPHS[tone]: words for tone, words in _POD_TONES.items()}


def drain_cell(words: str) -> Cell:
    """How far the drain of a node is (`cockpit.pools.drain_mark.progress`)."""
    return Cell(f"{'‖' if words == 'drained' else '◂'} {words}", "warn")


def pod_words(pod: Pod) -> tuple[str, Tone]:
    """What a pod does, in plain words, from its phase, conditions and first failing container."""
    if pod.deleting_seconds is not None:
        return "ending", "dim"
    if pod.phase == "Succeeded":
        return "succeeded", "dim"
    if pod.phase == "Failed":
        return _failure(pod), "bad"
    if pod.phase == "Pending":
        return _pending(pod)
    if pod.phase == "Running":
        if pod.waiting_reason:
            return waiting_reason(pod.waiting_reason).words, "bad"
        return ("running", "good") if pod.is_ready else ("running, not ready", "warn")
    return ("unknown" if pod.phase in ("", "Unknown") else pod.phase, "dim")


def pod_brief(pod: Pod) -> str:
    """The same without why it failed."""
    is_failed = pod.phase == "Failed" and pod.deleting_seconds is None
    return "failed" if is_failed else pod_words(pod)[0]


def _failure(pod: Pod) -> str:
    reason = pod.status_reason or pod.terminated_reason
    if reason == "OOMKilled":
        return "failed: out of memory"
    if reason and reason != "Error":
        return f"failed: {reason}"
    return "failed" if pod.exit_code is None else f"failed: exit code {pod.exit_code}"


def _pending(pod: Pod) -> tuple[str, Tone]:
    if pod.is_gated:
        return "gated by its queue", "info"
    if not pod.node:
        return "waiting for a node", "warn"
    if pod.waiting_reason:
        reason = waiting_reason(pod.waiting_reason)
        if reason.severity is not Severity.PROGRESS:
            return reason.words, "bad"
    return "starting", "info"


_GLYPHS: dict[Tone, str] = {"good": "●", "info": "◔", "warn": "▲", "bad": "×", "dim": "○"}
_POD_TONES: dict[Tone, str] = {
    "good": "running",
    "info": "starting, or gated by its queue",
    "warn": "waiting for a node, or not ready",
    "bad": "failed, or cannot start",
    "dim": "succeeded, ending or unknown",
}


def pod_glyph(pod: Pod) -> Cell:
    """What a pod does as one character."""
    tone = pod_words(pod)[1]
    return Cell(_GLYPHS.get(tone, "○"), tone)


def pod_cell(pod: Pod) -> Cell:
    """The same character and its words."""
    glyph, tone = pod_glyph(pod)
    return Cell(f"{glyph} {pod_words(pod)[0]}", tone)


def stream_tone(phase: Phase) -> Tone:
    """Tone of a stream's phase."""
    if phase is Phase.LIVE:
        return "good"
    return "bad" if phase in (Phase.DENIED, Phase.NOT_LOGGED_IN, Phase.BACKING_OFF) else "warn"


def telemetry_trouble(status: StreamStatus | None) -> str:
    """Why GPU readings are missing or old, in one sentence; "" where they flow, or are still looked for."""
    if status is None or status.phase in (Phase.CONNECTING, Phase.LISTING):
        return ""
    return status.message


def none_matches(what: str, total: int, filter_text: str) -> str:
    """Of a table whose rows are all hidden by the filter."""
    return f"None of {total:,} {what} matches {filter_text!r}; press / to change the filter."


def why_empty(
    what: str,
    status: StreamStatus | None,
    *,
    within: Namespaces = EVERY,
) -> str:
    """The sentence that stands where rows would stand: why there are none of `what` ("jobs")."""
    if status is None or status.phase is Phase.CONNECTING:
        return f"Connecting: {what} are not listed yet."
    if status.phase is Phase.LISTING:
        so_far = f"Listing {status.kind or what}: {status.objects:,} so far"
        return f"{so_far}; {status.message}" if status.message else f"{so_far}."
    if status.phase is Phase.DENIED:
        return status.message or f"Denied: no right to list {what}."
    if status.phase is Phase.ABSENT:
        return status.message or f"This cluster does not serve {what}."
    if not status.is_current:
        return status.message or f"No {what} known; the stream is {status.phase.value}."
    within = within or namespaces_of(status.scope)
    return f"There are no {what}{f' in {within.words}' if within else ''}."
