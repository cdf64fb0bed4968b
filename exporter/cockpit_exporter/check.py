"""`--check`: what would be collected on this machine, as a table."""

from collections import Counter
from collections.abc import Iterator

from cockpit_exporter.families import CARD_FAMILIES
from cockpit_exporter.model import Card
from cockpit_exporter.seen import Seen, instance_label

_NO_VALUES = frozenset(
    {"up", "lost", "sample_age_seconds", "info", "holder", "allocatable", "read_failed"}
    | {
        "xid",
        "xid_age_seconds",
        "xid_errors_total",
        "processes",
        "process_memory_bytes",
        "process_duty_ratio",
    }
)


def report(seen: Seen, xid_state: str) -> str:
    """The whole report. One section a line of thought: driver, cards, families, pods, XIDs."""
    return "\n".join(
        [*_driver(seen), *_cards(seen), *_families(seen), *_pods(seen), f"XIDs         {xid_state}", ""]
    )


def _driver(seen: Seen) -> Iterator[str]:
    snapshot, versions = seen.snapshot, seen.snapshot.versions
    yield f"node         {seen.node}"
    if snapshot.reason:
        yield f"driver       not usable: {snapshot.detail or snapshot.reason}"
    else:
        yield f"driver       {versions.driver}, NVML {versions.nvml}, CUDA {versions.cuda}"
        yield f"one round    {snapshot.round_seconds * 1000:.0f} ms"


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cards(seen: Seen) -> Iterator[str]:
    cards = seen.snapshot.cards
    if not cards:
        yield "cards        none"
        return
    yield ""
    rows: list[tuple[str, ...]] = [("GPU", "UUID", "MODEL", "MIG", "STATE", "VALUES", "PROCESSES", "USED BY")]
    for card in cards:
        device = card.device
        state = card.down or "up"
        counts = (str(len(card.values)), str(len(card.processes)))
        rows.append(
            (
                str(device.index),
                device.uuid,
                device.model,
                card.mig_mode,
                state,
                *counts,
                _held(seen, card, ""),
            )
        )
        for instance in card.instances:
            name = f"{device.index}/{instance_label(card, instance)}"
            rows.append(
                (
                    name,
                    instance.uuid,
                    instance.profile,
                    "",
                    "",
                    str(len(instance.values)),
                    "",
                    _held(seen, card, instance.uuid),
                )
            )
    yield from _table(rows)
    yield ""


def _held(seen: Seen, card: Card, instance: str) -> str:
    if seen.joined is None:
        return "not known"
    holders = seen.joined.holders.get((card.device.uuid, instance), ())
    return (
        ", ".join(
            f"{holder.namespace}/{holder.pod}" if holder.pod else f"pod {holder.pod_uid}"
            for holder in holders
        )
        or "nobody"
    )


def _families(seen: Seen) -> Iterator[str]:
    """Which families come, of how many cards, and which do not."""
    up = [card for card in seen.snapshot.cards if not card.down]
    if not up:
        return
    counts = Counter(name for card in up for name in {value.family for value in card.values})
    counts.update(
        name
        for card in up
        for name in {value.family for instance in card.instances for value in instance.values}
        if name not in {value.family for value in card.values}
    )
    rows: list[tuple[str, ...]] = [("FAMILY", "CARDS", "MEANING")]
    for short, family in CARD_FAMILIES.items():
        if short in _NO_VALUES:
            continue
        cards = f"{counts[short]} of {len(up)}" if counts[short] else "none"
        rows.append((family.name, cards, family.help))
    yield from _table(rows)
    failures = Counter(failure for card in up for failure in card.failures)
    for failure, count in sorted(failures.items()):
        yield f"refused      {failure.function}: {failure.error} ({count} of {len(up)} cards)"
    yield ""


def _pods(seen: Seen) -> Iterator[str]:
    state = seen.attribution
    if state.source == "off":
        yield "pods         not asked: no pod-resources socket was given"
    elif state.reason:
        yield f"pods         not known: {state.reason}"
    elif seen.joined is not None:
        held = sum(bool(holder) for holder in seen.joined.holders.values())
        strange = len(seen.joined.unmatched)
        yield f"pods         known: {held} cards or instances are allocated, {strange} ids match none here"
    if state.slices_reason:
        yield f"slices       not read: {state.slices_reason}"
