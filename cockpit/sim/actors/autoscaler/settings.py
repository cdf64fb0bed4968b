"""Flags of the autoscaler, with cluster-autoscaler's defaults (pkg/FAQ.md)."""

import msgspec


class AutoscalerSettings(msgspec.Struct, frozen=True):
    """Seconds and limits; `max_nodes_total` 0 means none."""

    scan_seconds: float = 10.0
    unneeded_seconds: float = 600.0
    delay_after_add_seconds: float = 600.0
    provision_seconds: float = 900.0
    backoff_seconds: float = 300.0
    longest_backoff_seconds: float = 1_800.0
    gpu_threshold: float = 0.5
    cpu_threshold: float = 0.5
    max_nodes_total: int = 0
    most_empty_at_once: int = 10
