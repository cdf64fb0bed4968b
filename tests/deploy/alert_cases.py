"""For each alert a series that sets it off, in the notation of promtool's tests; nothing else may fire."""

GPU = 'node="n1", uuid="GPU-1", gpu="0"'
HEALTHY = (
    (f"cockpit_gpu_up{{{GPU}}}", "1x40"),
    (f"cockpit_gpu_lost{{{GPU}}}", "0x40"),
    (f"cockpit_gpu_xid{{{GPU}}}", "0x40"),
    (f"cockpit_gpu_row_remap_failed{{{GPU}}}", "0x40"),
    (f"cockpit_gpu_row_remap_pending{{{GPU}}}", "0x40"),
    (f"cockpit_gpu_retired_pages_pending{{{GPU}}}", "0x40"),
    (f'cockpit_gpu_recovery_action{{{GPU}, action="none"}}', "1x40"),
    (f'cockpit_gpu_throttle{{{GPU}, reason="hw_thermal"}}', "0x40"),
    (f'cockpit_gpu_throttle{{{GPU}, reason="gpu_idle"}}', "1x40"),
    (f'cockpit_gpu_throttle{{{GPU}, reason="hw_power_brake"}}', "0x40"),
    (f'cockpit_gpu_ecc_errors_total{{{GPU}, kind="uncorrected", counter="aggregate"}}', "7x40"),
    (f'cockpit_gpu_ecc_errors_total{{{GPU}, kind="corrected", counter="aggregate"}}', "0+9x40"),
    (f'cockpit_gpu_xid_errors_total{{{GPU}, xid="31"}}', "2x40"),
    ('cockpit_nvml_up{instance="10.0.0.1:9400", reason=""}', "1x40"),
    ('cockpit_exporter_snapshot_age_seconds{instance="10.0.0.1:9400"}', "3x40"),
    ('cockpit_exporter_hung_calls{instance="10.0.0.1:9400"}', "0x40"),
    ('cockpit_attribution_up{instance="10.0.0.1:9400", source="off", reason=""}', "0x40"),
    ('cockpit_exporter_info{instance="10.0.0.1:9400", version="0", names="cockpit"}', "1x40"),
)
"""Series and their values, of a GPU and an exporter with nothing wrong."""

FAULTS: dict[str, dict[str, str]] = {
    "CockpitGpuLost": {
        f"cockpit_gpu_lost{{{GPU}}}": "1x40",
        f'cockpit_gpu_up{{{GPU}, reason="gpu-is-lost"}}': "0x40",
    },
    "CockpitGpuNotRead": {f'cockpit_gpu_up{{{GPU}, reason="hung"}}': "0x40"},
    "CockpitGpuXid": {
        f'cockpit_gpu_xid_errors_total{{{GPU}, xid="79"}}': "1x40",
        f"cockpit_gpu_xid_age_seconds{{{GPU}}}": "60x40",
    },
    "CockpitGpuUncorrectedMemoryErrors": {
        f'cockpit_gpu_ecc_errors_total{{{GPU}, kind="uncorrected", counter="aggregate"}}': "7x20 8x20",
    },
    "CockpitGpuReplace": {f"cockpit_gpu_row_remap_failed{{{GPU}}}": "1x40"},
    "CockpitGpuResetNeeded": {f"cockpit_gpu_retired_pages_pending{{{GPU}}}": "1x40"},
    "CockpitGpuThrottledByHeat": {f'cockpit_gpu_throttle{{{GPU}, reason="hw_thermal"}}': "1x40"},
    "CockpitGpuThrottledByPowerSupply": {f'cockpit_gpu_throttle{{{GPU}, reason="hw_power_brake"}}': "1x40"},
    "CockpitGpuDriverDown": {
        'cockpit_nvml_up{instance="10.0.0.1:9400", reason="library-not-found"}': "0x40",
        'cockpit_nvml_up{instance="10.0.0.1:9400", reason=""}': "_x40",
    },
    "CockpitExporterStale": {'cockpit_exporter_snapshot_age_seconds{instance="10.0.0.1:9400"}': "60+60x40"},
    "CockpitExporterCallsHang": {'cockpit_exporter_hung_calls{instance="10.0.0.1:9400"}': "2x40"},
    "CockpitGpuPodsUnknown": {
        'cockpit_attribution_up{instance="i", source="pod-resources", reason="unavailable"}': "0x40",
    },
    "CockpitExporterAbsent": {
        'cockpit_exporter_info{instance="10.0.0.1:9400", version="0", names="cockpit"}': "_x40"
    },
}
"""Alert -> series that take the place of the healthy ones, or come beside them."""
