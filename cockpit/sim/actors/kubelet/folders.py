"""The private folder of a pod in the process runtime, and how paths of a container lead into it.

    BASE/NAMESPACE_POD_UID/  one per pod, 0700
      volumes/NAME/          emptyDir, and the files of configMap, secret and projected volumes
      CONTAINER/root/        the container's root: working directory, HOME; mount points are links in it
    BASE/.claims/UID/        one per PersistentVolumeClaim: outlives pods, goes with the claim

There is no chroot: `/data` of the container is `$COCKPIT_ROOT/data`. Where a mount path, or a path of the
image, stands in the command, its arguments or the value of a variable, it is replaced by that folder, so that
most commands just work. hostPath volumes are not there.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from cockpit.sim.port import Tree

CLAIMS = ".claims"
_PATH_END = r"(?=$|[/\s:;,'\"=)])"
_UNLIKE_A_NAME = re.compile(r"[^A-Za-z0-9.-]")
_MOST_CHARACTERS = 100
_MOST_BYTES = 250
_FILES = ("configMap", "secret", "projected", "downwardAPI")


def one_name(text: str) -> str:
    """`text` as one part of a path, whatever it says: no separator, not hidden, not too long."""
    return _UNLIKE_A_NAME.sub("_", text)[:_MOST_CHARACTERS].lstrip(".") or "_"


class PodFolder:
    """One pod's folder."""

    def __init__(self, base: Path, pod: Tree) -> None:
        metadata = pod["metadata"]
        names = (metadata.get("namespace", ""), metadata["name"], metadata["uid"])
        self.path = base / "_".join(one_name(str(one)) for one in names)
        self._claims = base / CLAIMS
        self._pod = pod

    def make(self, volumes: Mapping[str, Mapping[str, bytes]], claims: Mapping[str, str]) -> None:
        """Make the folder, its volumes and their files; `claims` are the uids of claims by volume."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        for volume in self._pod["spec"].get("volumes", ()):
            folder = self._volume(volume["name"])
            if volume["name"] in claims:
                kept = self._claims / one_name(claims[volume["name"]])
                kept.mkdir(parents=True, exist_ok=True, mode=0o700)
                folder.parent.mkdir(exist_ok=True)
                if not folder.is_symlink():
                    folder.symlink_to(kept)
            elif "hostPath" not in volume and "persistentVolumeClaim" not in volume:
                folder.mkdir(parents=True, exist_ok=True)
                _write(folder, volume, volumes.get(volume["name"], {}))

    def follow(self, volumes: Mapping[str, Mapping[str, bytes]]) -> None:
        """Bring the files of its volumes to what they are now; none is ever seen half written."""
        for volume in self._pod["spec"].get("volumes", ()):
            folder = self._volume(volume["name"])
            if not any(field in volume for field in _FILES) or not folder.is_dir():
                continue
            files = volumes.get(volume["name"], {})
            wanted = {_inside(folder, relative) for relative in files}
            _write(folder, volume, files)
            for path in [one for one in folder.rglob("*") if one.is_file() and one not in wanted]:
                path.unlink(missing_ok=True)

    def root(self, container: Tree, image: Mapping[str, Path]) -> Path:
        """Make the container's root with its mount points and the paths of its image; answers where it is."""
        root: Path = self.path / one_name(str(container["name"])) / "root"
        root.mkdir(parents=True, exist_ok=True)
        mounts = sorted(container.get("volumeMounts", ()), key=lambda one: str(one["mountPath"]))
        for path, source in image.items():
            _link(_inside(root, path), source, [_inside(root, str(one["mountPath"])) for one in mounts])
        for mount in mounts:
            source = self._volume(mount["name"])
            if mount.get("subPath"):
                source = _inside(source, mount["subPath"])
            _link(_inside(root, str(mount["mountPath"])), source, [])
        return root

    def remove(self) -> None:
        """Remove everything but what its claims hold."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _volume(self, name: str) -> Path:
        folder: Path = self.path / "volumes" / one_name(name)
        return folder


def remove_claim(base: Path, uid: str) -> None:
    """The claim is gone, and what it held."""
    shutil.rmtree(base / CLAIMS / one_name(uid), ignore_errors=True)


def _link(target: Path, source: Path, mounts: list[Path]) -> None:
    """`target` leads to `source`; where something is mounted in between it is a folder of such links."""
    if target in mounts or target.exists() or target.is_symlink() or not source.exists():
        return
    if any(one.is_relative_to(target) for one in mounts):
        target.mkdir(parents=True)
        for child in source.iterdir():
            _link(target / child.name, child, mounts)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source)


def _write(folder: Path, volume: Tree, files: Mapping[str, bytes]) -> None:
    usual, of_item = _modes(volume)
    for relative, content in files.items():
        target = _inside(folder, relative)
        if target == folder or (target.is_file() and target.read_bytes() == content):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f"..{target.name[:_MOST_CHARACTERS]}")
        new.write_bytes(content)
        new.chmod(of_item.get(relative, usual))
        new.replace(target)


def _inside(folder: Path, relative: str) -> Path:
    """`relative` below `folder`; a path that climbs out stays at the folder, a long part is cut."""
    parts = [part for part in relative.replace("\0", "").split("/") if part not in ("", ".", "..")]
    return folder.joinpath(*(os.fsdecode(os.fsencode(part)[:_MOST_BYTES]) for part in parts))


def _modes(volume: Tree) -> tuple[int, dict[str, int]]:
    """The mode of a volume's files, and of those items that have one of their own, by path."""
    source: Tree = next((volume[field] for field in _FILES if field in volume), {})
    parts = [source, *(part for one in source.get("sources") or () for part in one.values())]
    own = {
        str(item["path"]): int(item["mode"]) & 0o777
        for part in parts
        for item in part.get("items") or ()
        if item.get("mode") is not None
    }
    mode = source.get("defaultMode")
    return (0o644 if mode is None else int(mode) & 0o777), own


def mapped(text: str, paths: Mapping[str, Path]) -> str:
    """`text` with paths of a container replaced by where they are, the longest that fits."""
    if not paths:
        return text
    known = "|".join(re.escape(path) for path in sorted(paths, key=len, reverse=True))
    found = rf"(?<![\w/.-])({known}){_PATH_END}"
    return re.sub(found, lambda match: os.fspath(paths[match.group(1)]), text)


def paths_in(root: Path, container: Tree, image: Mapping[str, Path]) -> dict[str, Path]:
    """Each path of the container that leads somewhere below its root."""
    mounts = (str(one["mountPath"]).rstrip("/") for one in container.get("volumeMounts", ()))
    return {path: _inside(root, path) for path in (*image, *mounts) if path}
