"""When the autoscaler takes nodes away, by the flags with which it was started.

Sources: kubernetes-sigs/cluster-autoscaler pkg/config/flags/flags.go (names and defaults), pkg/FAQ.md. Tags
of a group in the cloud may set other values for it, which no object of the cluster tells.
"""

import msgspec

from cockpit.k8s.durations import go_seconds
from cockpit.model.autoscaler import OwnerFlags
from cockpit.model.record import Kind, label
from cockpit.model.store_reader import StoreReader

ENABLED = "scale-down-enabled"
UNNEEDED = "scale-down-unneeded-time"
GPU_SHARE = "scale-down-gpu-utilization-threshold"
SHARE = "scale-down-utilization-threshold"
AFTER_ADD = "scale-down-delay-after-add"
NAMES = (ENABLED, UNNEEDED, GPU_SHARE, SHARE, AFTER_ADD)
_DEFAULTS = {UNNEEDED: 600.0, GPU_SHARE: 0.5, SHARE: 0.5, AFTER_ADD: 600.0}
STALE_SECONDS = 600.0
"""What a Deployment said that long ago may have been changed since; of a pod nothing changes."""
UNKNOWN = "after 10 min, or what its flag --scale-down-unneeded-time says"


class FlagNumber(msgspec.Struct, frozen=True):
    """A value of a flag: seconds, or a share between 0 and 1. None: it is written and not understood."""

    number: float | None
    is_default: bool = False


class ScaleDownTerms(msgspec.Struct, frozen=True):
    """When it takes a node away: one whose requests stay below the share (of GPUs on a node that has any, of
    CPU and memory on others) for `unneeded`, and not within `after_add` of a scale-up."""

    unneeded: FlagNumber
    gpu_share: FlagNumber
    share: FlagNumber
    after_add: FlagNumber
    is_enabled: bool = True

    @property
    def words(self) -> str:
        """`removes nodes after 3m with fewer than 50 % (default) of GPUs requested, none within 10m (default)
        of a scale-up`."""
        if not self.is_enabled:
            return f"removes no nodes: --{ENABLED}=false"
        after, share, wait = _span(self.unneeded), _percent(self.gpu_share), _span(self.after_add)
        idle = f"with fewer than {share} of GPUs requested"
        return f"removes nodes after {after} {idle}, none within {wait} of a scale-up"


def flags_read(truth: StoreReader, name: str) -> OwnerFlags | None:
    """What was read of the owner of that name last; None where nothing was."""
    found = truth.records(Kind.OWNER_FLAGS).values()
    return next((one for one in found if isinstance(one, OwnerFlags) and one.name == name), None)


def terms_of(truth: StoreReader, name: str, now_seconds: float | None = None) -> ScaleDownTerms | None:
    """None where its flags were not read, are those of a pod that is gone, or of a Deployment as it was long
    before `now_seconds`."""
    read = flags_read(truth, name)
    if read is None or read.trouble:
        return None
    if read.pod_uid:
        if truth.get(Kind.POD, read.pod_uid) is None:
            return None
    elif now_seconds is not None and now_seconds - (read.read_seconds or 0.0) > STALE_SECONDS:
        return None
    return ScaleDownTerms(
        unneeded=_number(read, UNNEEDED),
        gpu_share=_number(read, GPU_SHARE),
        share=_number(read, SHARE),
        after_add=_number(read, AFTER_ADD),
        is_enabled=label(read.flags, ENABLED).lower() not in ("false", "f", "0"),
    )


def scale_down_words(truth: StoreReader, name: str, now_seconds: float | None = None) -> str:
    """What follows the owner's name: by its flags, else by its default and named as that."""
    terms = terms_of(truth, name, now_seconds)
    if terms is not None:
        return terms.words
    read = flags_read(truth, name)
    why = f" (its flags are not known: {read.trouble})" if read is not None and read.trouble else ""
    return f"removes unneeded nodes {UNKNOWN}{why}"


def _number(read: OwnerFlags, flag: str) -> FlagNumber:
    text = label(read.flags, flag)
    if not text:
        return FlagNumber(_DEFAULTS[flag], is_default=True)
    if flag in (UNNEEDED, AFTER_ADD):
        return FlagNumber(go_seconds(text))
    try:
        found = float(text)
    except ValueError:
        return FlagNumber(None)
    return FlagNumber(found if 0.0 <= found <= 1.0 else None)


def _span(value: FlagNumber) -> str:
    if value.number is None:
        return "a time that is not understood"
    minutes, seconds = divmod(round(value.number), 60)
    text = f"{minutes}m" * bool(minutes) + f"{seconds}s" * bool(seconds or not minutes)
    return text + " (default)" * value.is_default


def _percent(value: FlagNumber) -> str:
    if value.number is None:
        return "a share that is not understood"
    return f"{value.number * 100:g} %" + " (default)" * value.is_default
