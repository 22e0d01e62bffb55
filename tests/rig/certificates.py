"""Certificates of a test: good ones, expired ones, ones for other hosts and ones from a CA that no client trusts."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)


@dataclass(frozen=True)
class ClientCertificate:
    """Files of a client, in PEM form."""

    certificate: Path
    key: Path


class Certificates:
    """Two CAs and what they issued, in `directory`. `ca` is the one that brokers and clients trust, `unknown_ca` is not."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._authority, self._stranger = trustme.CA(), trustme.CA()
        self.ca, self.unknown_ca = directory / "ca.pem", directory / "unknown-ca.pem"
        self._authority.cert_pem.write_to_path(str(self.ca))
        self._stranger.cert_pem.write_to_path(str(self.unknown_ca))

    def server(self, *identities: str, expired: bool = False) -> Path:
        """Key and certificate chain of a server in one file, as Kafka's keystores of type PEM want it."""
        leaf = self._issue(self._authority, identities, None, expired)
        path = self._directory / f"{'expired-' if expired else ''}{'-'.join(identities)}.pem"
        path.write_bytes(_key(leaf, None) + _chain(leaf))
        return path

    def client(self, name: str, password: str | None = None, expired: bool = False, unknown: bool = False) -> ClientCertificate:
        """A client's certificate with the subject CN=`name`; `password` encrypts its key, `unknown` lets the untrusted CA issue it."""
        leaf = self._issue(self._stranger if unknown else self._authority, (name,), name, expired)
        stem = f"{name}{'-expired' if expired else ''}{'-unknown' if unknown else ''}{'-locked' if password else ''}"
        files = ClientCertificate(self._directory / f"{stem}.pem", self._directory / f"{stem}.key")
        files.certificate.write_bytes(_chain(leaf))
        files.key.touch(mode=0o600)
        files.key.write_bytes(_key(leaf, password))
        return files

    @staticmethod
    def _issue(authority: trustme.CA, identities: tuple[str, ...], name: str | None, expired: bool) -> trustme.LeafCert:
        now = datetime.now(UTC)
        return authority.issue_cert(
            *identities,
            common_name=name,
            organization_name="rig",
            organization_unit_name="tests",
            not_before=now - timedelta(days=30),
            not_after=now + timedelta(days=-1 if expired else 1),
        )


def _chain(leaf: trustme.LeafCert) -> bytes:
    return b"".join(part.bytes() for part in leaf.cert_chain_pems)


def _key(leaf: trustme.LeafCert, password: str | None) -> bytes:
    key = load_pem_private_key(leaf.private_key_pem.bytes(), password=None)
    encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)  # Kafka reads no other format of keys
