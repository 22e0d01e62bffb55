# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SASL mechanisms: one entry for each. Pure: no I/O."""

from __future__ import annotations

from typing import NamedTuple


class Mechanism(NamedTuple):
    """What the connection options say about a SASL mechanism.

    required      the options that it needs
    sent_secret   the secret that a login sends to the broker, None if it sends a proof
    login         the options to check after the broker refuses a login
    """

    required: tuple[str, ...]
    sent_secret: str | None
    login: str

    @property
    def fetches_tokens(self) -> bool:
        """Whether a token endpoint issues what a login sends."""
        return "sasl_oauth_token_endpoint" in self.required

    @property
    def names_principal(self) -> bool:
        """Whether sasl_username is the name of the principal. The brokers' own rules map a token to one."""
        return "sasl_username" in self.required


_USER = ("sasl_username", "sasl_password")
_USER_LOGIN = "sasl_username, sasl_password and sasl_mechanism"

MECHANISMS = {
    "PLAIN": Mechanism(_USER, "password", _USER_LOGIN),
    # It sends a proof (RFC 5802), never the password.
    "SCRAM-SHA-256": Mechanism(_USER, None, _USER_LOGIN),
    "SCRAM-SHA-512": Mechanism(_USER, None, _USER_LOGIN),
    "OAUTHBEARER": Mechanism(
        ("sasl_oauth_token_endpoint", "sasl_oauth_client_id", "sasl_oauth_client_secret"),
        "token",
        "sasl_oauth_client_id, sasl_oauth_scope and whether the brokers trust the tokens of sasl_oauth_token_endpoint",
    ),
}
