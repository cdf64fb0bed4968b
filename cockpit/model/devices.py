"""Which extended resources count GPUs, by name."""

from functools import lru_cache

GPU_NAMES = (
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "amd.com/gpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "habana.ai/gaudi",
    "alpha.kubernetes.io/nvidia-gpu",
    "aliyun.com/gpu",
)
"""Source: cluster-autoscaler pkg/utils/gpu/gpu.go and the vendors' device plugins."""

_NOT_GPUS = ("gpu.intel.com/i915_monitoring", "gpu.intel.com/xe_monitoring", "gpu.intel.com/monitoring")


@lru_cache(maxsize=1024)
def is_gpu_resource(name: str) -> bool:
    """True for a resource that counts GPUs or slices of them, e.g. `nvidia.com/mig-1g.10gb`."""
    if name in _NOT_GPUS:
        return False
    if name in GPU_NAMES or name.endswith("/gpu") or name.startswith("nvidia.com/mig-"):
        return True
    return name.startswith("gpu.intel.com/") and not name.endswith(("memory.max", "tiles", "millicores"))


def resource_word(name: str, count: int | None = None) -> str:
    """What a person calls the resource: "GPUs" ("GPU" for one), "CPU", "memory", else its own name."""
    if name.startswith("nvidia.com/mig-"):
        return f"MIG {name.removeprefix('nvidia.com/mig-')}"
    if is_gpu_resource(name):
        return "GPU" if count == 1 else "GPUs"
    return {"cpu": "CPU", "memory": "memory", "ephemeral-storage": "local disk"}.get(name, name)
