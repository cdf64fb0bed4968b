"""The namespaces a full bed lives in: whether this machine allows them, how they are made and entered.

Kueue and mpi-operator have fixed ports and fixed paths, and kube-apiserver's proxy refuses loopback addresses
behind a Service. Inside its own user, network, mount and process namespace the bed has every port, a private
/etc and /run, and a whole address range on loopback; and nothing in it outlives its first process.
"""

import functools
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bed.cache import BedError
from tests.bed.layout import BED_RANGE, Layout

_FORMS: dict[str, tuple[str, ...]] = {
    "user": ("--user", "--map-root-user", "--net", "--mount"),
    # Some containers give root every capability but forbid user namespaces.
    "root": ("--net", "--mount"),
}
_NEEDED = {"unshare": "util-linux", "nsenter": "util-linux", "mount": "mount", "ip": "iproute2"}
# Files of /etc larger than this are not copied into the bed's private /etc.
_LARGEST_ETC_FILE_BYTES = 1024**2


def _find(program: str) -> str | None:
    """A program's path; administrators' folders are searched too, because users' PATH often lacks them."""
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


@functools.cache
def _trial() -> tuple[str | None, str | None]:
    """(form that works, None) or (None, one sentence why none does)."""
    if sys.platform != "linux":
        return None, f"the full bed needs Linux namespaces, and this is {sys.platform}"
    for program, package in _NEEDED.items():
        if _find(program) is None:
            return None, f"the full bed needs the program {program}: install the package {package}"
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        script = (
            f"{_find('ip')} link set lo up && {_find('ip')} route add local {BED_RANGE} dev lo && "
            f"{_find('mount')} --bind {folder} /etc && {_find('mount')} --bind {folder} /run"
        )
        for form in _FORMS:
            if form == "root" and os.geteuid() != 0:
                continue
            done = subprocess.run(
                [*unshare_prefix(form), "sh", "-c", script],
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
                stdin=subprocess.DEVNULL,
            )
            if done.returncode == 0:
                return form, None
            said = said or (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1]
    return None, (
        f"this machine does not allow the namespaces of the full bed ({said}), so only the control plane "
        "runs here: allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
        "kernel.apparmor_restrict_unprivileged_userns=0, or a container with --privileged)"
    )


def why_not() -> str | None:
    """One sentence that says why the full bed cannot run here; None when it can."""
    return _trial()[1]


def allowed_form() -> str:
    """`user` or `root`. Raises BedError with the sentence of `why_not`."""
    form, reason = _trial()
    if form is None:
        raise BedError(reason or "namespaces are not allowed here")
    return form


def unshare_prefix(form: str) -> list[str]:
    """The command that runs what follows it in new namespaces; all of it dies with this command."""
    return [_find("unshare") or "unshare", *_FORMS[form], "--pid", "--fork", "--kill-child"]


def enter_prefix(pid: int, form: str) -> list[str]:
    """The command that runs what follows it inside the namespaces of process `pid`.

    The process namespace is entered too: /proc inside belongs to it, and what was started dies with the bed.
    """
    user = ["--user", "--preserve-credentials"] if form == "user" else []
    return ["nsenter", "--target", str(pid), *user, "--net", "--mount", "--pid", "--"]


def in_folder(folder: Path, argv: Sequence[str]) -> list[str]:
    """`argv` run in `folder`: entering a mount namespace leaves one in its root."""
    return ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(folder), *argv]


def outer_pid() -> int:
    """This process's number as those outside see it; only before /proc is mounted anew."""
    return int(os.readlink("/proc/self"))


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BedError(f"inside the namespace `{' '.join(argv)}` failed: {done.stderr.strip()}")


def prepare_inside(layout: Layout) -> list[str]:
    """Loopback, the address range, a private /etc and /run, a fresh /proc. Returns what fell short.

    Raises BedError. Runs as the first process of new namespaces, never outside one.
    """
    if os.getpid() != 1:
        raise BedError("the namespace is prepared only by its first process")
    ip, mount = _find("ip") or "ip", _find("mount") or "mount"
    _run(ip, "link", "set", "lo", "up")
    _run(ip, "route", "add", "local", BED_RANGE, "dev", "lo")
    etc, run = layout.run_dir / "etc", layout.run_dir / "run"
    _copy_etc(Path("/etc"), etc)
    _write_fixed_paths(layout, etc, run)
    _run(mount, "--bind", str(etc), "/etc")
    _run(mount, "--bind", str(run), "/run")
    done = subprocess.run([mount, "-t", "proc", "proc", "/proc"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        # Containers that mask parts of /proc do not let a new one be mounted; the old one does.
        return [f"/proc inside is the machine's own ({done.stderr.strip()})"]
    return []


def _copy_etc(source: Path, target: Path) -> None:
    """Copies what can be read: a copy, not a mount, so deleting the bed's folder touches nothing else."""
    target.mkdir(mode=0o755, exist_ok=True)
    for entry in os.scandir(source):
        copy = target / entry.name
        try:
            mode = entry.stat(follow_symlinks=False)
            if stat.S_ISLNK(mode.st_mode):
                copy.symlink_to(os.readlink(entry.path))
            elif stat.S_ISDIR(mode.st_mode):
                _copy_etc(Path(entry.path), copy)
            elif stat.S_ISREG(mode.st_mode) and mode.st_size <= _LARGEST_ETC_FILE_BYTES:
                shutil.copyfile(entry.path, copy)
        except PermissionError:
            continue  # shadow and its like: nothing in the bed reads them


def _write_fixed_paths(layout: Layout, etc: Path, run: Path) -> None:
    """What Kueue looks for under fixed names: its metrics certificate, a service account's three files."""
    certificates = etc / "kueue" / "metrics" / "certs"
    account = run / "secrets" / "kubernetes.io" / "serviceaccount"
    for folder in (certificates, account):
        folder.mkdir(parents=True, exist_ok=True)
    for name in ("tls.crt", "tls.key"):
        shutil.copyfile(layout.run_dir / "hook" / name, certificates / name)
    shutil.copyfile(layout.ca_file, account / "ca.crt")
    shutil.copyfile(layout.run_dir / "controllers.token", account / "token")
    (account / "namespace").write_text("kueue-system")
    # /var/run is a link to /run nearly everywhere; resolv.conf may link into the hidden /run.
    resolver = etc / "resolv.conf"
    resolver.unlink(missing_ok=True)
    resolver.write_text("")
    hosts = etc / "hosts"
    hosts.unlink(missing_ok=True)
    hosts.write_text("127.0.0.1 localhost\n::1 localhost\n")
