"""What a pod of the process runtime has in place of a network: a host name that `ssh` knows, an address of
loopback of its own where the system gives out such, and a word on who holds a port that it announces."""

import contextlib
import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cockpit.sim.port import Tree

LOOPBACK = "127.0.0.1"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_FIRST_NET = 64
_NETS = 128
_A_NET = 254
_LISTENS = "0A"


def host_of(pod: Tree) -> tuple[str, str, str] | None:
    """Namespace, subdomain and host name of a pod; None where one is no label, and so no part of a path."""
    spec, metadata = pod["spec"], pod["metadata"]
    host = str(spec.get("hostname") or metadata["name"])
    names = (str(metadata.get("namespace", "")), str(spec.get("subdomain") or host), host)
    return names if all(map(_LABEL.fullmatch, names)) else None


class Hosts:
    """Folders of the pods' host names below `folder`, and which pod has which address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._addresses: dict[str, str] = {}
        # Another demo of this machine has other addresses: they stand in another net.
        self._net = f"127.{_FIRST_NET + os.getpid() // 256 % _NETS}.{os.getpid() % 256}."

    def add(self, pod: Tree) -> str:
        """The pod's host name, `NAMESPACE/SUBDOMAIN/HOST`, with a folder for its sockets; "" for none."""
        names = host_of(pod)
        if names is None:
            return ""
        self.folder.joinpath(*names).mkdir(parents=True, exist_ok=True, mode=0o700)
        return "/".join(names)

    def remove(self, pod: Tree) -> None:
        """The pod is gone: so are its name and its address."""
        names = host_of(pod)
        if names is not None:
            shutil.rmtree(self.folder.joinpath(*names), ignore_errors=True)
            for above in (names[:2], names[:1], ()):
                with contextlib.suppress(OSError):
                    self.folder.joinpath(*above).rmdir()
        self._addresses.pop(pod["metadata"]["uid"], None)

    def address(self, pod: Tree) -> str:
        """An address that no other pod has, or 127.0.0.1 where there is no other."""
        uid = pod["metadata"]["uid"]
        if uid not in self._addresses:
            taken = set(self._addresses.values())
            free = (f"{self._net}{number}" for number in range(1, _A_NET + 1))
            self._addresses[uid] = next((one for one in free if one not in taken and _is_ours(one)), LOOPBACK)
        return self._addresses[uid]


def _is_ours(address: str) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


class PortHolder(msgspec.Struct, frozen=True):
    """Who listens at a port: a process (0 where that cannot be seen) and its command's name."""

    pid: int
    name: str


def holder_of(port: int, address: str) -> PortHolder | None:
    """Who listens where a process would that binds to `port` of every address, or of this one.

    None where nobody does, or where the system does not tell (no /proc).
    """
    inodes = set(_listening(port, address))
    if not inodes:
        return None
    for pid in _processes():
        try:
            if any(link.startswith("socket:[") and link[8:-1] in inodes for link in _open_files(pid)):
                return PortHolder(pid, Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip())
        except OSError:  # another user's, or gone
            continue
    return PortHolder(0, "")


def _open_files(pid: int) -> Iterator[str]:
    """What a process has open; a file that is closed meanwhile is passed over. Raises OSError."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(f"/proc/{pid}/fd/{name}")


def _listening(port: int, address: str) -> Iterator[str]:
    own = socket.inet_aton(address)[::-1].hex().upper()
    for file in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{file}", encoding="ascii") as table:
            for line in table:
                words = line.split()
                if len(words) < 10 or words[3] != _LISTENS:
                    continue
                host, _, number = words[1].rpartition(":")
                if int(number, 16) == port and (not host.strip("0") or host == own):
                    yield words[9]


def _processes() -> Iterator[int]:
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                yield int(name)
