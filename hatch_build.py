"""Compiles the one part in C.

The part in C is optional: without it long lists of pods are read more slowly. It uses only the stable ABI, so
one wheel serves each CPython from 3.11 on. `GPU_COCKPIT_PURE=1` builds a wheel without it, for any platform.
"""

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = tuple(
    Path("cockpit/kube/decode", name) for name in ("_gist.c", "_gistmodule.c", "_gistchunks.c")
)  # and _gist.h
BUILT = Path("cockpit/kube/decode/_gist.abi3.so")
STABLE_ABI = "cp311-abi3"  # Py_LIMITED_API in the sources is 3.11
PURE = "GPU_COCKPIT_PURE"


def compile_gist(root: Path, to: Path) -> str:
    """Compile into `to`, all at once or not at all; why it failed, "" where it did not."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared", "-fPIC"]
    made = to.with_suffix(f".{os.getpid()}")
    argv = [
        *(*compiler, "-O3", "-std=c11", "-fvisibility=hidden", *shared, f"-I{sysconfig.get_path('include')}"),
        *(*(str(root / one) for one in SOURCES), "-o", str(made)),
    ]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    if done.returncode:
        made.unlink(missing_ok=True)
        return done.stderr.strip().partition("\n")[0] or f"{compiler[0]} ended with {done.returncode}"
    made.replace(to)
    return ""


class CustomBuildHook(BuildHookInterface[Any]):
    """Called by hatchling for wheels and editable installs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        problem = "" if os.name == "posix" else f"not tried on {os.name}"
        if os.environ.get(PURE):
            problem = f"{PURE} is set"
        problem = problem or compile_gist(root, root / BUILT)
        if problem:
            (root / BUILT).unlink(missing_ok=True)  # an old one would be worse than none
            self.app.display_warning(f"lists of pods will be read more slowly: {BUILT.stem}: {problem}")
            return
        build_data["artifacts"].append(f"/{BUILT}")
        build_data["pure_python"] = False
        if sys.platform == "linux":
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"{STABLE_ABI}-{platform}"
        else:
            build_data["infer_tag"] = True
