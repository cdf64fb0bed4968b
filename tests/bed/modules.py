"""Folders of Go modules, as the Go proxy has them: for custom kinds that the bed runs no controller of."""

import json
import os
import subprocess
from pathlib import Path

from tests.bed.builder import quiet
from tests.bed.cache import BedError, cache_root
from tests.bed.toolchain import ensure_go

_SECONDS = 300.0


def module_folder(module: str, version: str) -> Path:
    """The unpacked, checked module, downloaded where it is not there yet. Raises BedError."""
    go = ensure_go(cache_root(), quiet)
    done = subprocess.run(
        [go, "mod", "download", "-json", f"{module}@{version}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"},
        cwd="/",
    )
    try:
        told = json.loads(done.stdout)
    except ValueError:
        told = {}
    if done.returncode != 0 or "Dir" not in told:
        raise BedError(f"{module}@{version} cannot be had: {told.get('Error') or done.stderr.strip()}")
    return Path(told["Dir"])
