"""The private folder of a pod in the process runtime, and how paths of a container lead into it.

    FOLDER/                one per pod, 0700
      volumes/NAME/        emptyDir, and the files of configMap, secret and projected volumes
      CONTAINER/root/      the container's root: working directory, HOME; mount points are links in it

There is no chroot: `/data` of the container is `$COCKPIT_ROOT/data`. Where a mount path stands in the
command, its arguments or the value of a variable, it is replaced by that folder, so that most commands just
work. hostPath volumes, claims and the image's own files are not there.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from cockpit.sim.port import Tree

_PATH_END = r"(?=$|[/\s:;,'\"=)])"


class PodFolder:
    """One pod's folder."""

    def __init__(self, base: Path, pod: Tree) -> None:
        metadata = pod["metadata"]
        self.path = base / f"{metadata.get('namespace', '')}_{metadata['name']}_{metadata['uid']}"
        self._pod = pod

    def make(self, volumes: Mapping[str, Mapping[str, bytes]]) -> None:
        """Make the folder, its volumes and their files."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        for volume in self._pod["spec"].get("volumes", ()):
            name = volume["name"]
            if "hostPath" in volume or "persistentVolumeClaim" in volume:
                continue
            folder = self.path / "volumes" / name
            folder.mkdir(parents=True, exist_ok=True)
            mode = _mode(volume)
            for relative, content in volumes.get(name, {}).items():
                target = _inside(folder, relative)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                target.chmod(mode)

    def root(self, container: Tree) -> Path:
        """Make the container's root with its mount points; answers where it is."""
        root: Path = self.path / str(container["name"]) / "root"
        root.mkdir(parents=True, exist_ok=True)
        for mount in sorted(container.get("volumeMounts", ()), key=lambda one: str(one["mountPath"])):
            source = self.path / "volumes" / mount["name"]
            if mount.get("subPath"):
                source = _inside(source, mount["subPath"])
            target: Path = _inside(root, str(mount["mountPath"]))
            if not source.exists() or target.exists() or target.is_symlink():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)
        return root

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.path, ignore_errors=True)


def _inside(folder: Path, relative: str) -> Path:
    """`relative` below `folder`; a path that climbs out stays at the folder."""
    parts = [part for part in relative.split("/") if part not in ("", ".", "..")]
    return folder.joinpath(*(str(part) for part in parts))


def _mode(volume: Tree) -> int:
    for field in ("configMap", "secret", "projected", "downwardAPI"):
        if field in volume:
            return int(volume[field].get("defaultMode") or 0o644) & 0o777
    return 0o644


def mapped(text: str, container: Tree, root: Path) -> str:
    """`text` with the container's mount paths replaced by where they are."""
    paths = sorted((str(one["mountPath"]).rstrip("/") for one in container.get("volumeMounts", ())), key=len)
    for path in reversed([one for one in paths if one]):
        target = os.fspath(_inside(root, path))
        found = rf"(?<![\w/.-]){re.escape(path)}{_PATH_END}"
        text = re.sub(found, target.replace("\\", r"\\"), text)
    return text
