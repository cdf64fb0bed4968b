"""What each distribution is tested with, as CycloneDX 1.6: `python -m tests.release.bill_of_materials`.

`make lock` writes the documents from the locks; the wheels have them in `.dist-info/sboms` (PEP 770).
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Distribution:
    """One of the two distributions; its paths are relative to the checkout."""

    name: str
    folder: Path
    version_file: Path
    lock: Path
    bill: Path

    @property
    def stem(self) -> str:
        """How its files begin."""
        return self.name.replace("-", "_")

    def version(self, root: Path = ROOT) -> str:
        """As its package says it, the only place where it is written."""
        (found,) = re.findall(r'^__version__ = "(.+)"$', (root / self.version_file).read_text(), re.MULTILINE)
        return str(found)


COCKPIT = Distribution(
    "gpu-cockpit",
    Path(),
    Path("cockpit/__init__.py"),
    Path("requirements/base.lock"),
    Path("requirements/gpu-cockpit.cdx.json"),
)
EXPORTER = Distribution(
    "cockpit-exporter",
    Path("exporter"),
    Path("exporter/cockpit_exporter/__init__.py"),
    Path("requirements/exporter.lock"),
    Path("exporter/cockpit-exporter.cdx.json"),
)
DISTRIBUTIONS = (COCKPIT, EXPORTER)


def locked(lock: str) -> dict[str, tuple[str, list[str]]]:
    """Package -> its version and the SHA-256 digests of its files, as hexadecimal digits."""
    packages = {}
    for part in re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)[1:]:
        package, _, rest = part.partition("==")
        digests = sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", rest))
        packages[package] = (rest.split(None, 1)[0], digests)
    return packages


def bill_of_materials(name: str, version: str, lock: str) -> dict[str, Any]:
    """The CycloneDX document: the same for the same lock."""
    components = [
        {
            "type": "library",
            "name": package,
            "version": found,
            "purl": f"pkg:pypi/{package}@{found}",
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in digests],
        }
        for package, (found, digests) in locked(lock).items()
    ]
    purl = f"pkg:pypi/{name}@{version}"
    about = {"type": "application", "name": name, "version": version, "purl": purl}
    made = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    return {**made, "metadata": {"component": about}, "components": components}


def text(distribution: Distribution, root: Path = ROOT) -> str:
    """The committed document of a distribution: a line for each package."""
    version, lock = distribution.version(root), (root / distribution.lock).read_text()
    bill = bill_of_materials(distribution.name, version, lock)
    components = ",\n".join(json.dumps(component) for component in bill.pop("components"))
    return json.dumps(bill).removesuffix("}") + f', "components": [\n{components}\n]}}\n'


def main() -> int:
    """Writes both documents."""
    for distribution in DISTRIBUTIONS:
        (ROOT / distribution.bill).write_text(text(distribution))
    return 0


if __name__ == "__main__":
    sys.exit(main())
