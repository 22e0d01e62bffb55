# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TLS contexts from the connection options, and error messages about certificates that name the remedy."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

# OpenSSL's X509_V_ERR_* numbers.
NOT_YET_VALID, EXPIRED = 9, 10
UNKNOWN_CA = (2, 18, 19, 20, 21)
OTHER_NAME = (62, 64)


def context(ca_cert: str | None, client: tuple[str, str, str | None] | None, validate: bool) -> ssl.SSLContext:
    """Return a client's TLS context. `client`: files of certificate and key, and the key's password. RecoveryError names the option."""
    try:
        tls = ssl.create_default_context(cafile=ca_cert)
    except (ssl.SSLError, OSError) as error:
        raise RecoveryError(f"ca_cert: {ca_cert} has no certificate in PEM format: {error}") from error
    if not validate:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if client:
        certificate, key, password = client
        try:
            # With the empty string OpenSSL does not prompt for the password on a terminal.
            tls.load_cert_chain(certificate, key, password or "")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise RecoveryError(_unusable(certificate, key, password, error)) from error
    return tls


def _unusable(certificate: str, key: str, password: str | None, error: Exception) -> str:
    if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
        return f"client_key: {key} is not the key of the certificate {certificate}"
    try:
        locked = b"ENCRYPTED" in Path(key).read_bytes()
    except OSError as unreadable:
        return f"client_key: {key} cannot be read: {unreadable.strerror}"
    if locked:
        return f"client_key_password {'does not open' if password else 'is missing: it opens'} the key {key}"
    return f"client_cert, client_key or client_key_password cannot be used together: {error}"


def refused(error: ssl.SSLCertVerificationError, whose: str, ca_cert: str | None) -> str:
    """Return why a server's certificate was refused, with the remedy. `whose`: "its" or "the broker's"."""
    if error.verify_code == EXPIRED:
        return f"{whose} certificate has expired; renew it there"
    if error.verify_code == NOT_YET_VALID:
        return f"{whose} certificate is not valid yet; compare the clocks of both machines"
    if error.verify_code in OTHER_NAME:
        return f"{whose} certificate is for another host name ({error.verify_message.rstrip('.')}); use a name in the certificate, or renew it with this one"
    if error.verify_code in UNKNOWN_CA:
        trusted = f"{ca_cert} does not include" if ca_cert else "the system's CAs do not include"
        return f"{whose} certificate was signed by an unknown CA: {trusted} it ({error.verify_message}); set ca_cert to the file of that CA"
    return f"{whose} certificate was refused ({error.verify_message}); fix it there, or set ca_cert to the CA that signed it"


def client_expiry(certificate: str) -> datetime | None:
    """Return when a client's certificate expires (UTC), None if that cannot be read."""
    try:
        from cryptography import x509  # a dependency of ansible-core

        return x509.load_pem_x509_certificate(Path(certificate).read_bytes()).not_valid_after_utc
    except (ImportError, OSError, ValueError, AttributeError):
        return None


def client_refused(certificate: str | None) -> str:
    """Return why a broker may have refused the client's certificate, or that it requires one. None: the client has none."""
    if certificate is None:
        return "the broker requires a client certificate; set client_cert and client_key"
    expiry = client_expiry(certificate)
    if expiry is not None and expiry < datetime.now(UTC):
        return f"the broker refused client_cert {certificate}: it expired on {expiry:%Y-%m-%d}; renew it"
    return f"the broker refused client_cert {certificate}; is it signed by a CA in the broker's truststore?"
