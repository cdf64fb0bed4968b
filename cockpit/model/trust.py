"""How sure it is that the server which answers is the one that was meant."""

from enum import Enum


class Trust(Enum):
    """How the identity of a connection's server is verified."""

    VERIFIED = "verified"  # its certificate is checked
    UNVERIFIED = "unverified"  # TLS without a check of the certificate (insecure-skip-tls-verify)
    PLAIN = "plain"  # http: neither encrypted nor checked
