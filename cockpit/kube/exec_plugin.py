"""Credential plugins of a kubeconfig (`user.exec`), run once: with this process's terminal, or without.

`kubernetes.aio` lets every plugin inherit stdin and waits for ever. Here a plugin has the terminal only where
it is free; else its stdin is closed and it gets its own session (no controlling terminal to prompt on). It
always has a deadline, and its error text is cleaned.
Source of the protocol: kubernetes.io "client-go credential plugins" (ExecCredential v1, v1beta1).
"""

import asyncio
import base64
import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from cockpit.errors import LoginExpired, NoConnection
from cockpit.kube.decode.times import from_text
from cockpit.kube.kubeconfig_fields import exec_config
from cockpit.sanitise import clean

DEADLINE_SECONDS = 30.0
ASKING_SECONDS = 300.0
"""The deadline of a plugin that a person answers."""
OUTPUT_BYTES = 1 << 20
"""A plugin that prints more is no plugin, and is killed."""
_PIECE_BYTES = 1 << 16


class ExecCredential(msgspec.Struct, frozen=True):
    """What a plugin gave. `expires_seconds` is epoch seconds, None when it did not say."""

    token: str = ""
    certificate: str = ""
    key: str = ""
    expires_seconds: float | None = None

    def __repr__(self) -> str:
        return f"ExecCredential(expires_seconds={self.expires_seconds})"


async def run_plugin(
    spec: Mapping[str, Any],
    cluster: Mapping[str, Any] | None = None,
    *,
    has_terminal: bool = False,
    deadline_seconds: float | None = None,
) -> ExecCredential:
    """Run the plugin once, by its checked exec section (cockpit.kube.kubeconfig_fields).

    With `has_terminal` it reads and asks on this process's terminal, which has to be free, and has
    ASKING_SECONDS. Raises LoginExpired where it gives no login, NoConnection where it cannot be run or speaks
    another protocol; both name the command, what went wrong and the remedy.
    """
    command, api_version = str(spec["command"]), str(spec["apiVersion"])
    name = clean(command, 120)
    environment = dict(os.environ)
    for pair in spec.get("env", ()):
        environment[pair["name"]] = pair.get("value", "")
    info = _exec_info(spec, api_version, cluster, is_interactive=has_terminal)
    environment["KUBERNETES_EXEC_INFO"] = json.dumps(info)
    try:
        process = await asyncio.create_subprocess_exec(
            command,
            *spec.get("args", ()),
            env=environment,
            stdin=None if has_terminal else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if has_terminal else asyncio.subprocess.PIPE,
            start_new_session=not has_terminal,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        remedy = _hint(spec) or "install it or correct exec.command in the kubeconfig"
        raise NoConnection(f"The credential plugin {name} cannot be run ({reason}): {remedy}") from None
    seconds = deadline_seconds or (ASKING_SECONDS if has_terminal else DEADLINE_SECONDS)
    out, err = await _collect(process, name, seconds, has_terminal=has_terminal)
    if process.returncode != 0:
        said = clean((err or b"").decode("utf-8", "replace").strip(), 300)
        said = said or ("see what it printed" if has_terminal else "no output")
        hint = f"; {text}" if (text := _hint(spec)) else ""
        raise LoginExpired(
            f"The credential plugin {name} failed with code {process.returncode}: {said}{hint}"
        )
    return _read(out, name, api_version)


def _hint(spec: Mapping[str, Any]) -> str:
    """What the kubeconfig says about installing the plugin, in one line."""
    return " ".join(clean(str(spec.get("installHint", "")), 300).split())


def _exec_info(
    spec: Mapping[str, Any], api_version: str, cluster: Mapping[str, Any] | None, *, is_interactive: bool
) -> dict[str, Any]:
    info: dict[str, Any] = {"interactive": is_interactive}
    if spec.get("provideClusterInfo") and cluster:
        info["cluster"] = _cluster_info(cluster)
    return {"apiVersion": api_version, "kind": "ExecCredential", "spec": info}


def _cluster_info(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The cluster as `spec.cluster`: an authority in a file is handed over as data."""
    kept = (
        "server",
        "tls-server-name",
        "insecure-skip-tls-verify",
        "certificate-authority-data",
        "proxy-url",
        "disable-compression",
    )
    told = {name: cluster[name] for name in kept if name in cluster}
    if file := cluster.get("certificate-authority"):
        try:
            told["certificate-authority-data"] = base64.b64encode(Path(file).read_bytes()).decode("ascii")
        except OSError as error:
            raise NoConnection(f"certificate-authority: {file} cannot be read ({error.strerror}).") from None
    config = exec_config(cluster)
    return told if config is None else {**told, "config": config}


async def _collect(
    process: asyncio.subprocess.Process, name: str, deadline_seconds: float, *, has_terminal: bool
) -> tuple[bytes, bytes]:
    """Output and error text; kills the plugin, and without a terminal its children too, when time runs out,
    it prints without end, or the caller leaves."""
    is_over = False
    try:
        async with asyncio.timeout(deadline_seconds):
            out, err = await asyncio.gather(_printed(process.stdout), _printed(process.stderr))
            await process.wait()
            is_over = True
        return out, err
    except asyncio.LimitOverrunError:
        raise NoConnection(
            f"The credential plugin {name} printed more than {OUTPUT_BYTES:,} bytes;"
            " correct exec.command in the kubeconfig."
        ) from None
    except TimeoutError:
        waiting = "the login was not finished" if has_terminal else "it may be waiting for a login"
        raise LoginExpired(
            f"The credential plugin {name} did not answer within {deadline_seconds:g} s; "
            f"{waiting}: run it once in another terminal."
        ) from None
    finally:
        if not is_over and (process.returncode is None or not has_terminal):
            _kill(process.pid, is_group=not has_terminal)
            # asyncio waits for the end of its pipes, which a daemon of the plugin may hold open for ever
            process._transport.close()  # type: ignore[attr-defined]
            await process.wait()


async def _printed(stream: asyncio.StreamReader | None) -> bytes:
    """All that comes. Raises LimitOverrunError beyond OUTPUT_BYTES."""
    parts = bytearray()
    while stream is not None and (piece := await stream.read(_PIECE_BYTES)):
        parts += piece
        if len(parts) > OUTPUT_BYTES:
            raise asyncio.LimitOverrunError("too much", len(parts))
    return bytes(parts)


def _kill(pid: int, *, is_group: bool) -> None:
    try:
        (os.killpg if is_group else os.kill)(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _read(out: bytes, name: str, api_version: str) -> ExecCredential:
    try:
        answer = json.loads(out)
        status = answer["status"]
        said = answer.get("apiVersion")
        token, certificate = status.get("token") or "", status.get("clientCertificateData") or ""
        key, expires = status.get("clientKeyData") or "", status.get("expirationTimestamp")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise NoConnection(
            f"The credential plugin {name} did not print an ExecCredential with a status."
        ) from None
    if said != api_version:
        raise NoConnection(
            f"The credential plugin {name} speaks {clean(str(said), 80)}, the kubeconfig says {api_version}; "
            "set apiVersion of the exec section to what the plugin speaks."
        )
    if not token and not (certificate and key):
        raise NoConnection(
            f"The credential plugin {name} gave neither a token nor a certificate with its key."
        )
    if not (isinstance(token, str) and token.isascii() and token.isprintable() and " " not in token):
        raise NoConnection(
            f"The credential plugin {name} gave a token that no header can hold; log in again."
        )
    return ExecCredential(
        token, str(certificate), str(key), from_text(expires if isinstance(expires, str) else None)
    )
