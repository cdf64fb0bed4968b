"""The bed's own certificates: one CA for the API server, one for the front proxy, one for webhooks.

Everything is made anew for each bed and valid for two days; nothing here is meant to outlive a test run.
"""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = datetime.timedelta(days=2)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, with the files they were written to."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    certificate_file: Path
    key_file: Path


def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _write(folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    certificate_file, key_file = folder / f"{name}.crt", folder / f"{name}.key"
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    write_key(key_file, key)
    return Pair(certificate, key, certificate_file, key_file)


def write_key(path: Path, key: ec.EllipticCurvePrivateKey | None = None) -> None:
    """A private key in SEC 1 PEM (kube-apiserver reads no PKCS 8 here); new when none is given."""
    path.touch(mode=0o600)
    path.write_bytes(
        (key or _key()).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # An hour back, for a clock that is corrected while the bed runs.
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
    )


def make_ca(folder: Path, name: str) -> Pair:
    """A self-signed authority, written as NAME.crt and NAME.key."""
    key = _key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        _builder(subject, subject, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _write(folder, name, certificate, key)


def make_server(folder: Path, name: str, ca: Pair, hosts: tuple[str, ...]) -> Pair:
    """A server certificate for the given host names and addresses, signed by `ca`."""
    alternatives: list[x509.GeneralName] = []
    for host in hosts:
        try:
            alternatives.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            alternatives.append(x509.DNSName(host))
    return _signed(
        folder,
        name,
        ca,
        subject=x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])]),
        alternatives=x509.SubjectAlternativeName(alternatives),
        usage=ExtendedKeyUsageOID.SERVER_AUTH,
    )


def make_client(folder: Path, name: str, ca: Pair, user: str, group: str = "") -> Pair:
    """A client certificate: the common name is the user, the organisation the group."""
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
    if group:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return _signed(
        folder,
        name,
        ca,
        subject=x509.Name(attributes),
        alternatives=None,
        usage=ExtendedKeyUsageOID.CLIENT_AUTH,
    )


def _signed(
    folder: Path,
    name: str,
    ca: Pair,
    *,
    subject: x509.Name,
    alternatives: x509.SubjectAlternativeName | None,
    usage: x509.ObjectIdentifier,
) -> Pair:
    key = _key()
    builder = _builder(subject, ca.certificate.subject, key).add_extension(
        x509.ExtendedKeyUsage([usage]), critical=False
    )
    # OpenSSL 3 with strict flags (Python 3.13's default context) wants the issuer's key identifier.
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.key.public_key()), critical=False
    )
    if alternatives is not None:
        builder = builder.add_extension(alternatives, critical=False)
    return _write(folder, name, builder.sign(ca.key, hashes.SHA256()), key)
