"""Pods that really run on a simulated node: those whose every image begins with a prefix that says so.

The scenario `training` and people write such images (`local/shell`). It is looked at once, when the kubelet
sees the pod for the first time: an image that is changed later runs nothing that did not run before.

Two images have something in them, as a table of paths of a container and what they are here: `local/horovod`,
the training code of `jobspecs/training` with the training environment, and `local/stand-in`, which only plays
a training in a few lines of plain Python. Any other image is empty: its commands are those of this machine.
"""

import os
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from shlex import quote

import msgspec

from cockpit.sim import training_env
from cockpit.sim.actors.kubelet.runtime import Runtime
from cockpit.sim.port import Tree

PREFIX = "local/"
HOROVOD = f"{PREFIX}horovod"
STAND_IN = f"{PREFIX}stand-in"
_SECTIONS = ("initContainers", "containers", "ephemeralContainers")
_PROGRAMS = Path(__file__).with_name("programs")


class Local(msgspec.Struct, frozen=True):
    """`runtime` plays the pods whose images all begin with `prefix`, and no other pod."""

    runtime: Runtime
    prefix: str = PREFIX

    def plays(self, pod: Tree) -> bool:
        """True when every container of the pod is to run here; with one other image none does."""
        images = [
            str(one.get("image", "")) for section in _SECTIONS for one in pod["spec"].get(section) or ()
        ]
        return bool(images) and all(image.startswith(self.prefix) for image in images)


class LocalImage(msgspec.Struct, frozen=True):
    """What an image has: its own paths and where they are here, folders before PATH, variables.

    `missing` says why nothing of it can be started, "" where it can."""

    paths: Mapping[str, Path] = {}
    path: tuple[Path, ...] = ()
    environment: Mapping[str, str] = {}
    missing: str = ""


def training_code() -> Path:
    """The folder that is `/app` of `local/horovod`: in the wheel, or in the checkout."""
    inside = resources.files("cockpit") / "jobspecs" / "training"
    if inside.is_dir():
        return Path(str(inside))
    return Path(__file__).resolve().parents[4] / "jobspecs" / "training"


class LocalImages:
    """The table of images; programs that take more than a path are scripts below `folder`."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self._variables = variables

    def get(self, image: str) -> LocalImage:
        """What is in an image, by its name without tag; nothing where the table does not have it."""
        name = image.partition("@")[0].partition(":")[0]
        if name == STAND_IN:
            train = _PROGRAMS / "train.py"
            scripts = self._scripts(
                name,
                python=f"exec {quote(sys.executable)} -I -S",
                horovodrun=_program("horovodrun.py"),
                tensorboard=_program("tensorboard.py"),
            )
            paths = {f"/app/{one}.py": train for one in ("train", "benchmark", "language_model")}
            return LocalImage({**paths, **_ssh(scripts)}, (scripts,), _VARIABLES)
        if name != HOROVOD:
            return LocalImage()
        programs = training_env.ready(self._variables)
        if programs is None:
            return LocalImage(missing=f"{HOROVOD}: {training_env.missing(self._variables)}")
        # Of this machine's interfaces all pods have one, and whatever else it has would be probed by name.
        horovodrun = f"exec {quote(os.fspath(programs / 'horovodrun'))} --network-interfaces lo"
        # As in a pod of its own: who says 0.0.0.0 means the pod's address. The last --host counts.
        board = f'exec {quote(os.fspath(programs / "tensorboard"))} "$@" --host "$COCKPIT_ADDRESS"'
        scripts = self._scripts(name, horovodrun=horovodrun, tensorboard=board)
        return LocalImage({"/app": training_code(), **_ssh(scripts)}, (scripts, programs), _VARIABLES)

    def _scripts(self, image: str, **commands: str) -> Path:
        """A folder of small scripts, each a command that gets their arguments, behind it or where it says."""
        folder = self._folder / image.removeprefix(PREFIX)
        if not folder.is_dir():
            folder.mkdir(parents=True, mode=0o700)
            both = {"ssh": _program("ssh.py", "ssh"), "sshd": _program("ssh.py", "sshd")}
            for name, command in {**both, **commands}.items():
                script = folder / name
                whole = command if _ARGUMENTS in command else f"{command} {_ARGUMENTS}"
                script.write_text(f"#!/bin/sh\n{whole}\n")
                script.chmod(0o700)
        return folder


_ARGUMENTS = '"$@"'
_VARIABLES = {"OMP_NUM_THREADS": "1"}
"""Else each rank takes every core of this machine for itself."""


def _program(file: str, *words: str) -> str:
    return " ".join(map(quote, ("exec", sys.executable, "-I", "-S", os.fspath(_PROGRAMS / file), *words)))


def _ssh(scripts: Path) -> dict[str, Path]:
    return {"/usr/bin/ssh": scripts / "ssh", "/usr/sbin/sshd": scripts / "sshd"}
