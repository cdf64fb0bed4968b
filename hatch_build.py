"""Compiles the one part in C, and says in the wheel which packages it was tested with.

The part in C is optional: without it long lists of pods are read more slowly. The bill of materials is a
CycloneDX document in `.dist-info/sboms` (PEP 770), made of the locked versions and their hashes.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = tuple(
    Path("cockpit/kube/decode", name) for name in ("_gist.c", "_gistmodule.c", "_gistchunks.c")
)  # and _gist.h
BUILT = Path("cockpit/kube/decode/_gist.abi3.so")
LOCK = Path("requirements/base.lock")


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


def bill_of_materials(name: str, version: str, lock: str) -> dict[str, Any]:
    """What is in the wheel's surroundings, as CycloneDX has it: the same for the same lock."""
    components = []
    for part in re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)[1:]:
        package, _, rest = part.partition("==")
        locked = rest.split(None, 1)[0]
        hashes = sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", rest))
        components.append(
            {
                "type": "library",
                "name": package,
                "version": locked,
                "purl": f"pkg:pypi/{package}@{locked}",
                "hashes": [{"alg": "SHA-256", "content": one} for one in hashes],
            }
        )
    about = {"type": "application", "name": name, "version": version}
    made = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    return {**made, "metadata": {"component": about}, "components": components}


class CustomBuildHook(BuildHookInterface[Any]):
    """Called by hatchling for wheels and editable installs."""

    _folder = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if version == "standard" and (root / LOCK).exists():
            self._folder = tempfile.mkdtemp()
            about = self.metadata
            bill = bill_of_materials(about.name, about.version, (root / LOCK).read_text())
            path = Path(self._folder, f"{about.name}.cdx.json")
            path.write_text(json.dumps(bill, indent=1))
            build_data["sbom_files"].append(str(path))
        problem = "" if os.name == "posix" else f"not tried on {os.name}"
        problem = problem or compile_gist(root, root / BUILT)
        if problem:
            (root / BUILT).unlink(missing_ok=True)  # an old one would be worse than none
            self.app.display_warning(f"lists of pods will be read more slowly: {BUILT.stem}: {problem}")
            return
        build_data["artifacts"].append(f"/{BUILT}")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
