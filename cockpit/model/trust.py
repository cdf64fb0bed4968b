"""How sure it is that the server which answers is the one that was meant."""

from enum import Enum


class Trust(Enum):
    """What stands between a connection and whoever could pose as its server."""

    VERIFIED = "verified"  # its certificate is checked
    UNVERIFIED = "unverified"  # TLS, and nobody checks the certificate (insecure-skip-tls-verify)
    PLAIN = "plain"  # http: neither encrypted nor checked
