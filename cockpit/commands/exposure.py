"""Files with credentials that others on this host can read: told, as helm does, and used all the same."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cockpit.attach import AttachOptions
from cockpit.errors import NoConnection
from cockpit.kube.kubeconfig import check, files
from cockpit.local_state.config import Settings
from cockpit.local_state.paths import config_folder

_SECRETS = ("token", "password", "client-key-data")
_FILES = (("tokenFile", "token file"), ("client-key", "client key"))
_WORDS = (*_SECRETS, *(key for key, _ in _FILES))


def exposure_notes(chosen: AttachOptions, settings: Settings) -> tuple[str, ...]:
    """A sentence for each file with credentials, of this attachment or of the configuration, that its group
    or all users of this host can read."""
    files = [
        *_of_kubeconfigs(chosen.kubeconfig),
        ("Prometheus token file", Path(chosen.prometheus.token_file)),
        ("Prometheus password file", Path(chosen.prometheus.password_file)),
        ("Alertmanager token file", Path(chosen.alertmanager.token_file)),
        ("Alertmanager password file", Path(chosen.alertmanager.password_file)),
    ]
    servers = [settings.prometheus, settings.alertmanager]
    servers += (server for _, own in settings.contexts for server in (own.prometheus, own.alertmanager))
    if any("@" in server.url for server in servers):
        files.append(("configuration", config_folder(os.environ) / "config.toml"))
    return exposed(files)


def exposed(files: Iterable[tuple[str, Path]]) -> tuple[str, ...]:
    """A sentence for each of these (what it is, where) that others can read; a missing file has none."""
    found: dict[Path, str] = {}
    for what, path in files:
        try:
            mode = path.expanduser().stat().st_mode
        except (OSError, ValueError, RuntimeError):
            continue
        if stat.S_ISREG(mode) and mode & (stat.S_IRGRP | stat.S_IROTH):
            who = "all users of this host" if mode & stat.S_IROTH else "its group"
            found[path] = f"the {what} {path} can be read by {who}; run chmod 600 {path}"
    return tuple(found.values())


def _of_kubeconfigs(kubeconfig: str | None) -> Iterator[tuple[str, Path]]:
    for path in files(kubeconfig):
        try:
            text = path.read_text(encoding="utf-8")
            if not any(word in text for word in _WORDS):
                continue  # it names no credential: not worth the time of reading it as YAML
            tree = check(path)
        except (OSError, ValueError, NoConnection):
            continue  # told where the connection is made
        yield from credential_files(path, tree)


def credential_files(path: Path, tree: Mapping[str, Any]) -> list[tuple[str, Path]]:
    """The kubeconfig itself, where it holds a credential, and the files of credentials that it names."""
    found: list[tuple[str, Path]] = []
    for entry in tree.get("users") or ():
        user = entry.get("user") or {}
        if any(user.get(key) for key in _SECRETS):
            found.append(("kubeconfig", path))
        for key, what in _FILES:
            if isinstance(name := user.get(key), str) and name:
                found.append((what, path.parent / name))
    return found
