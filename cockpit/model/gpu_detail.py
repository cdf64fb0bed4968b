"""What only the page of a node shows of a card: kept only for the nodes on screen."""

import msgspec

from cockpit.model.quantity import Absent, Reading


class ProcessUse(msgspec.Struct, frozen=True, gc=False):
    """A process on a card as our exporter tells it. `memory_bytes` is None where the driver does not say."""

    pid: int
    name: str
    pod_uid: str = ""
    memory_bytes: float | None = None
    duty_ratio: float | None = None


class GpuDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The second record of a card (or MIG instance) with the same `uuid` as its `Gpu`. Base units.

    `throttle` and `recovery` are None where they are not collected; 0 and "none" are collected values.
    Errors are counts; `ecc_double` counts since boot (volatile).
    """

    uuid: str
    node: str
    power_cap_watts: Reading = Absent.NOT_COLLECTED
    sm_clock_max_hertz: Reading = Absent.NOT_COLLECTED
    memory_clock_hertz: Reading = Absent.NOT_COLLECTED
    memory_temperature_celsius: Reading = Absent.NOT_COLLECTED
    slowdown_celsius: Reading = Absent.NOT_COLLECTED
    shutdown_celsius: Reading = Absent.NOT_COLLECTED
    tensor_ratio: Reading = Absent.NOT_COLLECTED
    dram_ratio: Reading = Absent.NOT_COLLECTED
    sm_ratio: Reading = Absent.NOT_COLLECTED
    energy_joules: Reading = Absent.NOT_COLLECTED
    ecc_double: Reading = Absent.NOT_COLLECTED
    remapped_rows: Reading = Absent.NOT_COLLECTED
    remap_pending: Reading = Absent.NOT_COLLECTED
    remap_failed: Reading = Absent.NOT_COLLECTED
    nvlink_errors: Reading = Absent.NOT_COLLECTED
    nvlinks_up: Reading = Absent.NOT_COLLECTED
    nvlinks: Reading = Absent.NOT_COLLECTED
    pcie_replays: Reading = Absent.NOT_COLLECTED
    throttle: int | None = None
    recovery: str | None = None
    processes: tuple[ProcessUse, ...] | None = None
    sampled_seconds: float | None = None

    @property
    def uid(self) -> str:
        """As the store keys records."""
        return self.uuid

    @property
    def key(self) -> str:
        """As a person types it."""
        return self.uuid
