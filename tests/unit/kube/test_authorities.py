"""aiohttp is imported without the machine's authorities, and has them for whoever is checked by them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cockpit.clock import ManualClock
from cockpit.sim.server.http.certificates import make_certificates

ROOT = Path(__file__).resolve().parents[3]
ENTERED = """
import ssl, threading
create, context = ssl.create_default_context, ssl.SSLContext
{before}
from cockpit.kube.authorities import aiohttp
assert ssl.create_default_context is create and "set_default_verify_paths" not in vars(context)
from aiohttp import connector
checked, unchecked = connector._SSL_CONTEXT_VERIFIED, connector._SSL_CONTEXT_UNVERIFIED
known = lambda one: one.cert_store_stats()["x509_ca"]
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The only authority of this machine, as OpenSSL is told by the environment."""
    return Path(make_certificates(tmp_path_factory.mktemp("pki"), ManualClock()).ca_file)


def said(authority: Path, program: str, before: str = "") -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", ENTERED.format(before=before) + program],
        cwd=ROOT,
        env=os.environ | {"SSL_CERT_FILE": str(authority)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_they_are_read_before_the_first_connection(authority: Path) -> None:
    wrap = "checked.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname='a')"
    program = f"print(known(checked), known(unchecked)); {wrap}; print(known(checked)); {wrap}"
    assert said(authority, program) == ["0", "0", "1"]


def test_who_is_checked_is_still_checked(authority: Path) -> None:
    program = "print(checked.verify_mode.name, checked.check_hostname, unchecked.verify_mode.name)"
    assert said(authority, program) == ["CERT_REQUIRED", "True", "CERT_NONE"]


def test_other_contexts_read_them_at_once(authority: Path) -> None:
    assert said(authority, "print(known(ssl.create_default_context()))") == ["1"]


def test_another_thread_is_left_alone_meanwhile(authority: Path) -> None:
    # While aiohttp is being imported here, somebody else makes a context of his own.
    before = """
def create_and_ask(*given, **named):
    other = []
    one = threading.Thread(target=lambda: other.append(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)))
    one.start(); one.join()
    two = threading.Thread(target=other[0].load_default_certs)
    two.start(); two.join()
    print(other[0].cert_store_stats()["x509_ca"])
    return real(*given, **named)
real = create = ssl.create_default_context
create = ssl.create_default_context = create_and_ask
"""
    assert said(authority, "print(known(checked))", before) == ["1", "0"]


def test_an_aiohttp_that_is_there_already_stays_as_it_is(authority: Path) -> None:
    assert said(authority, "print(known(checked))", "import aiohttp") == ["1"]
