"""A stand-in for TensorBoard: one page that says that it is one, and which files it would read.

Run as `python -I -S tensorboard.py --port N --logdir FOLDER`; it listens at the pod's own address alone.
"""

import argparse
import html
import os
import sys
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


def page(folder: Path) -> bytes:
    """The page as it is now."""
    found = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    rows = "".join(f"<li>{html.escape(name)}</li>" for name in found)
    return (
        "<!doctype html><title>stand-in</title><h1>stand-in for TensorBoard</h1>"
        f"<p>It draws nothing. Files it would read: {len(found)}</p><ul>{rows}</ul>\n"
    ).encode()


def main(words: Sequence[str]) -> int:
    """Serve until the end of the container."""
    parser = argparse.ArgumentParser(prog="tensorboard (stand-in)")
    parser.add_argument("--port", type=int, default=6006)
    parser.add_argument("--logdir", type=Path, required=True)
    given = parser.parse_known_args(words)[0]

    class StandInBoard(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page(given.logdir)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in http.server
            """Requests are no lines of the log."""

    server = HTTPServer((os.environ.get("COCKPIT_ADDRESS") or "127.0.0.1", given.port), StandInBoard)
    sys.stdout.write(f"stand-in for TensorBoard at port {given.port}: it draws nothing\n")
    sys.stdout.flush()
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
