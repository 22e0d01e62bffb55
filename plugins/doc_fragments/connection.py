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
      - Addresses of some brokers, each as C(host:port). One that answers is enough. They are contacted in parallel.
      - Default is the environment variable E(KAFKA_BOOTSTRAP_SERVERS). Likewise, every option here defaults to C(KAFKA_) and its name in capitals.
    type: list
    elements: str
    required: true
  controller_bootstrap_servers:
    description:
      - Addresses of the KRaft controllers' listener, each as C(host:port). List all of them, because only the active controller has all information.
      - Optional. Controllers provide the ISR history, which is evidence if logs fork, and the versions of Vote that they support.
        Their listener must have the same security settings and credentials as the brokers' listener.
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
      - Address (C(https://)) of the token endpoint for OAUTHBEARER, for the client credentials grant (KIP-768).
      - Its certificate is checked like the brokers', with O(ca_cert) and O(validate_certs).
      - An C(http://) address on another machine needs O(allow_plaintext_secrets). A loopback address is never contacted through a proxy.
    type: str
  sasl_oauth_client_id:
    description: Id of the client that requests the token, needed with OAUTHBEARER.
    type: str
  sasl_oauth_client_secret:
    description: Secret of that client, needed with OAUTHBEARER.
    type: str
  sasl_oauth_scope:
    description: Scope of the token, if the endpoint requires one.
    type: str
  ca_cert:
    description: File with the CA certificates (PEM) to verify the brokers' certificates with. Default is the system's.
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
      - Whether secrets may be sent unencrypted to other machines, where anyone on the network path can read and use them.
      - Without it O(sasl_mechanism=PLAIN) and O(sasl_mechanism=OAUTHBEARER) are refused with O(security_protocol=SASL_PLAINTEXT), and so is
        an C(http://) address in O(sasl_oauth_token_endpoint). SCRAM does not send the password.
      - Loopback addresses need no opt-in if the process that listens there belongs to this user or to root.
    type: bool
    default: false
  request_timeout:
    description:
      - Time limit in seconds for each request to a broker. Brokers are independent. One that does not answer does not delay the others.
      - Also the time limit for the whole response of a token endpoint of OAuth.
    type: float
    default: 10.0
  require_commit:
    description:
      - Whether only what was merged into the protected branch may change the cluster. A task that would change it without that fails before it contacts
        a broker. Check mode is not refused.
      - The playbooks set it from C(kafka_recovery_require_commit).
    type: bool
    default: false
requirements:
  - kafka-python >= 3.0.12, < 3.1
"""
