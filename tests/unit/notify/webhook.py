"""A webhook for tests, on a port of loopback."""

import http.server
import json
import threading
from typing import Any


class Server:
    """A webhook that answers as it is told."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str, Any, dict[str, str]]] = []
        self.answers: list[Any] = []
        """For each request: a status, "drop" (no answer) or "late" (as slow as `gate`); then 200."""
        self.gate = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = outer.answers.pop(0) if outer.answers else 200
                if answer not in (500, 503, 429, 302):
                    outer.got.append((self.headers["Idempotency-Key"], self.path, body, dict(self.headers)))
                if answer == "drop":
                    self.connection.close()
                    return
                if answer == "late":
                    outer.gate.wait(30)
                    answer = 200
                self.send_response(answer)
                self.end_headers()

            def log_message(self, *_words: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()
