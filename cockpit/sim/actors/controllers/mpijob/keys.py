"""The pair of ssh keys of an MPIJob: ECDSA on P-521, drawn from the cluster's own randomness."""

from base64 import b64encode
from random import Random

_ORDER_BITS = 520
"""Below the order of the curve's group, which has 521 bits."""


def ssh_key_data(random: Random) -> dict[str, str]:
    """`ssh-privatekey` (PEM) and `ssh-publickey` (authorized_keys line), base64, as in a Secret.

    These keys are for a simulated cluster: they come from a seed and keep no secret.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.derive_private_key(random.getrandbits(_ORDER_BITS) + 1, ec.SECP521R1())
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return {
        "ssh-privatekey": b64encode(private).decode(),
        "ssh-publickey": b64encode(public + b"\n").decode(),
    }
