"""The cluster's own certificates: an authority, the server's, and those of two clients.

They are made anew for each cluster. Clients: `admin`, whom the API server knows by its certificate, and
`kubelet-client`, which the API server shows to kubelets, so that nobody else on the host reads logs or runs
commands there.
"""

import datetime
import ipaddress
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from cockpit.clock import Clock

_LIFETIME = datetime.timedelta(days=365)
_HOSTS = ("localhost", "kubernetes", "kubernetes.default.svc", "127.0.0.1", "::1")


class CertificatePair(msgspec.Struct, frozen=True):
    """Where a certificate and its key lie."""

    certificate_file: Path
    key_file: Path


class Certificates(msgspec.Struct, frozen=True):
    """Everything that was made. `ca_file` is what clients are to trust."""

    ca_file: Path
    server: CertificatePair
    admin: CertificatePair
    kubelet_client: CertificatePair


class _Authority:
    """Signs certificates in one folder."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.folder = folder
        self._now = datetime.datetime.fromtimestamp(clock.now(), datetime.UTC)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "cockpit-embedded-ca")])
        self.file = folder / "ca.crt"
        certificate = (
            self._begun(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def sign(
        self, name: str, subject: Mapping[x509.ObjectIdentifier, str], hosts: tuple[str, ...]
    ) -> CertificatePair:
        """A certificate, for a server where `hosts` are given and for a client otherwise."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(kind, text) for kind, text in subject.items()]
        usage = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        # OpenSSL with strict flags wants the issuer's key identifier.
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            self._begun(x509.Name(attributes), key)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(issuer, critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_general(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        pair = CertificatePair(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        signed = builder.sign(self._key, hashes.SHA256())
        pair.certificate_file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        pair.key_file.touch(mode=0o600)
        pair.key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pair

    def _begun(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            # A day back, for a clock that is corrected while the cluster runs.
            .not_valid_before(self._now - datetime.timedelta(days=1))
            .not_valid_after(self._now + _LIFETIME)
        )


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def make_certificates(folder: Path, clock: Clock) -> Certificates:
    """Writes all of them into `folder` (made 0700 where it is missing). `clock` is the machine's."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = _Authority(folder, clock)
    common, organisation = NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME
    return Certificates(
        ca_file=authority.file,
        server=authority.sign("server", {common: "localhost"}, _HOSTS),
        admin=authority.sign("admin", {organisation: "system:masters", common: "admin"}, ()),
        kubelet_client=authority.sign("kubelet-client", {common: "kube-apiserver-kubelet-client"}, ()),
    )


def server_context(made: Certificates) -> ssl.SSLContext:
    """TLS of the API server: clients may show a certificate of its authority."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(made.ca_file))
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(made.server.certificate_file, made.server.key_file)
    return context


def kubelet_context(made: Certificates) -> ssl.SSLContext:
    """How the API server dials kubelets: it shows who it is and, as kube-apiserver without
    `--kubelet-certificate-authority`, trusts whom it dials."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(made.kubelet_client.certificate_file, made.kubelet_client.key_file)
    return context


def subject_of(peer: Mapping[str, Any] | None) -> tuple[str, tuple[str, ...]]:
    """User and groups of a verified client certificate (common name, organisations); "" without one."""
    names = list(_attributes(peer or {}))
    users = [text for kind, text in names if kind == "commonName"]
    return (users[0] if users else ""), tuple(text for kind, text in names if kind == "organizationName")


def _attributes(peer: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for relative in peer.get("subject", ()):
        yield from relative
