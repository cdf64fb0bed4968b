"""The card models that a simulated node can carry: limits as their data sheets give them."""

import msgspec


class Model(msgspec.Struct, frozen=True):
    """Limits of one card. `slowdown_celsius` is where the card lowers its clocks by itself."""

    name: str
    memory_bytes: int
    reserved_bytes: int
    idle_watts: float
    cap_watts: float
    idle_celsius: float
    slowdown_celsius: float
    shutdown_celsius: float
    sm_clock_hertz: float
    idle_clock_hertz: float
    memory_clock_hertz: float
    has_profiling: bool = True
    has_memory_sensor: bool = True

    @property
    def celsius_per_watt(self) -> float:
        """Thermal resistance: a card at its cap settles 12 degrees below its slowdown in a cool room."""
        return (self.slowdown_celsius - 12.0 - self.idle_celsius) / (self.cap_watts - self.idle_watts)


_MIB = 1024 * 1024

_H100 = Model("NVIDIA H100 80GB HBM3", 81559 * _MIB, 610 * _MIB, 70, 700, 30, 87, 92, 1.98e9, 345e6, 2.619e9)
_A100_80 = Model(
    "NVIDIA A100-SXM4-80GB", 81920 * _MIB, 594 * _MIB, 60, 400, 30, 85, 92, 1.41e9, 210e6, 1.593e9
)
_A100_40 = Model(
    "NVIDIA A100-SXM4-40GB", 40960 * _MIB, 571 * _MIB, 52, 400, 29, 85, 92, 1.41e9, 210e6, 1.215e9
)
_A10G = Model(
    "NVIDIA A10G", 23028 * _MIB, 512 * _MIB, 18, 300, 28, 88, 95, 1.71e9, 210e6, 6.251e9,
    has_memory_sensor=False,
)  # fmt: skip
_T4 = Model(
    "Tesla T4", 15360 * _MIB, 470 * _MIB, 10, 70, 32, 93, 96, 1.59e9, 300e6, 5.001e9, has_memory_sensor=False
)
_V100 = Model("Tesla V100-SXM2-16GB", 16384 * _MIB, 235 * _MIB, 40, 300, 33, 83, 90, 1.53e9, 135e6, 877e6)
_K80 = Model(
    "Tesla K80", 11441 * _MIB, 0, 27, 149, 36, 88, 93, 875e6, 324e6, 2.505e9,
    has_profiling=False, has_memory_sensor=False,
)  # fmt: skip

MODELS: dict[str, Model] = {
    "NVIDIA-H100-80GB-HBM3": _H100,
    "NVIDIA-A100-SXM4-80GB": _A100_80,
    "NVIDIA-A100-SXM4-40GB": _A100_40,
    "NVIDIA-A10G": _A10G,
    "Tesla-T4": _T4,
    "Tesla-V100-SXM2-16GB": _V100,
    "Tesla-K80": _K80,
}
"""By the value of the label `nvidia.com/gpu.product`."""


def model_of(product: str) -> Model:
    """The model behind a product label; sharing and MIG suffixes do not count, an unknown one is an H100 by
    its limits under its own name."""
    plain = product.removesuffix("-SHARED").partition("-MIG-")[0]
    known = MODELS.get(plain)
    if known is not None:
        return known
    return msgspec.structs.replace(_H100, name=plain.replace("-", " ") or _H100.name)
