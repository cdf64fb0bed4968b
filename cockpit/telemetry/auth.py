"""The Authorization header of a metrics server. Files are read for every request, so a token that was renewed
counts at once. Nothing here shows a secret."""

import base64
import os
import stat
from pathlib import Path

from cockpit.model.batch import Phase
from cockpit.model.metrics_server import MetricsServer
from cockpit.telemetry.faults import TelemetryError

LARGEST_BYTES = 64 * 1024


def authorization(login: MetricsServer) -> str:
    """The header's value, "" where nothing is to be sent. Raises TelemetryError naming file and remedy."""
    if login.token or login.token_file:
        token = login.token or secret_of(login.token_file, "--prometheus-token-file")
        if not (token.isascii() and token.isprintable() and " " not in token):
            where = f" in {login.token_file}" if login.token_file else ""
            raise TelemetryError(f"The Prometheus token{where} is not one word of ASCII.", Phase.DENIED)
        return f"Bearer {token}"
    if login.username:
        password = login.password or secret_of(login.password_file, "--prometheus-password-file")
        return "Basic " + base64.b64encode(f"{login.username}:{password}".encode()).decode()
    return ""


def secret_of(name: str, option: str) -> str:
    """The only line of a file. Raises TelemetryError where there is none."""
    try:
        handle = os.open(Path(name).expanduser(), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise TelemetryError(f"{option}: {name} is not a regular file; give one.", Phase.DENIED)
            raw = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise TelemetryError(f"{option}: {name} cannot be read: {error.strerror}.", Phase.DENIED) from None
    except ValueError:
        raise TelemetryError(f"{option}: {name!r} is not a valid file name.", Phase.DENIED) from None
    try:
        text = raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        text = ""
    if not text or len(raw) > LARGEST_BYTES or not text.isprintable():
        raise TelemetryError(f"{option}: {name} does not hold one line of text.", Phase.DENIED)
    return text
