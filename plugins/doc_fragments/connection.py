# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection options, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that every module with a Kafka connection takes."""

    DOCUMENTATION = r"""
options:
  bootstrap_servers:
    description:
      - Addresses of some brokers, each as C(host:port). One that answers is enough; they are asked side by side.
      - Falls back to the environment variable E(KAFKA_BOOTSTRAP_SERVERS), like every option here to C(KAFKA_) and its name.
    type: list
    elements: str
    required: true
  controller_bootstrap_servers:
    description:
      - Addresses of the KRaft controllers' own listener, each as C(host:port). All of them, because only the active one can tell everything.
      - Optional. They tell the ISR history, which is evidence where logs fork, and which Vote versions they understand.
        Their listener has to be secured as the brokers' listener is, with the same credentials.
    type: list
    elements: str
    default: []
  security_protocol:
    description: How the brokers' listener is secured.
    type: str
    choices: [PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL]
    default: PLAINTEXT
  sasl_mechanism:
    description: SASL mechanism, needed with the two SASL protocols.
    type: str
    choices: [PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER]
  sasl_username:
    description: SASL user, needed with PLAIN and SCRAM.
    type: str
  sasl_password:
    description: SASL password, needed with PLAIN and SCRAM.
    type: str
  sasl_oauth_token_endpoint:
    description:
      - Address (C(https://)) where OAUTHBEARER's token is had for the client's credentials (KIP-768).
      - Its certificate is checked like the brokers', with O(ca_cert) and O(validate_certs).
      - An C(http://) address beyond this machine needs O(allow_plaintext_secrets). A loopback address is never asked through a proxy.
    type: str
  sasl_oauth_client_id:
    description: Id of the client that asks for the token, needed with OAUTHBEARER.
    type: str
  sasl_oauth_client_secret:
    description: Secret of that client, needed with OAUTHBEARER.
    type: str
  sasl_oauth_scope:
    description: Scope to ask for, where the endpoint wants one.
    type: str
  ca_cert:
    description: File with the CA certificates (PEM) that may have signed the brokers' certificates. Default is the system's.
    type: path
  client_cert:
    description: File with the client's certificate chain (PEM), for mutual TLS.
    type: path
  client_key:
    description: File with the private key (PEM) of O(client_cert). Other users must not be able to read it (C(chmod go=)).
    type: path
  client_key_password:
    description: Password of O(client_key).
    type: str
  validate_certs:
    description: Whether the brokers' certificates and host names are checked.
    type: bool
    default: true
  allow_plaintext_secrets:
    description:
      - Whether secrets may be sent unencrypted beyond this machine, where everybody on the network path can read and use them.
      - Without it O(sasl_mechanism=PLAIN) and O(sasl_mechanism=OAUTHBEARER) are refused with O(security_protocol=SASL_PLAINTEXT), and so is
        an C(http://) address in O(sasl_oauth_token_endpoint). SCRAM does not send the password.
      - Loopback addresses need no opt-in if the process that listens there belongs to this user or to root.
    type: bool
    default: false
  request_timeout:
    description:
      - Seconds within which a broker has to answer a request. Holds for every broker by itself; one that does not answer does not delay the others.
      - A token endpoint of OAuth has them for its whole answer.
    type: float
    default: 10.0
requirements:
  - kafka-python >= 3.0.12, < 3.1
"""
