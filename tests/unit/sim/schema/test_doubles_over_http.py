"""Members that stand twice in a body, seen by a client."""

import ssl
from pathlib import Path
from random import Random

import aiohttp
import pytest

from cockpit.clock import ManualClock
from cockpit.sim.server.run import serving

BODY = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}'
PATH = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(("validation", "status"), [("Strict", 400), ("Warn", 201), ("Ignore", 201)])
async def test_they_are_refused_warned_of_or_the_last_counts(
    tmp_path: Path, validation: str, status: int
) -> None:
    async with serving(tmp_path, ManualClock(), Random(1)) as server, aiohttp.ClientSession() as http:
        tls = ssl.create_default_context(cafile=str(server.ca_file))
        headers = {"Authorization": f"Bearer {server.tokens['admin']}", "Content-Type": "application/json"}
        url = f"{server.url}{PATH}?fieldValidation={validation}"
        async with http.post(url, data=BODY, headers=headers, ssl=tls) as answer:
            told = await answer.json()
            assert answer.status == status
            if status == 400:
                assert told["message"] == (
                    'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
                    'duplicate field "data.k"'
                )
                return
            assert told["data"] == {"k": "2"}
            warned = answer.headers.get("Warning", "")
            assert ('duplicate field \\"data.k\\"' in warned) is (validation == "Warn")
