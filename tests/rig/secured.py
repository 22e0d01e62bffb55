"""Listeners with TLS and SASL, beside the plaintext one that the rig itself works through. Keystores are PEM files: no keytool is needed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rig.tokens import AUDIENCE

LOGIN = "org.apache.kafka.common.security"
OAUTH_VALIDATOR = f"{LOGIN}.oauthbearer.OAuthBearerValidatorCallbackHandler"
SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
# Common names alone, so that CN=recovery,OU=... is User:recovery.
COMMON_NAME_RULE = "RULE:^CN=([^,]+),.*$/$1/,DEFAULT"


@dataclass(frozen=True)
class Tls:
    """SSL. `client_auth`: none, requested or required (then only holders of certificates from `ca` get in)."""

    keystore: Path
    ca: Path
    client_auth: str = "none"
    protocol: str = "SSL"

    def broker_properties(self, listener: str) -> dict[str, str]:
        return _tls(listener, self.keystore, self.ca, self.client_auth)


@dataclass(frozen=True)
class Sasl:
    """SASL, over TLS where there is a keystore: SCRAM with the users of the rig's setting `scram`, PLAIN with `users`, OAUTHBEARER with `jwks`."""

    users: Mapping[str, str] = field(default_factory=dict)
    jwks: Path | None = None
    keystore: Path | None = None
    ca: Path | None = None
    client_auth: str = "none"

    @property
    def protocol(self) -> str:
        return "SASL_SSL" if self.keystore else "SASL_PLAINTEXT"

    @property
    def mechanisms(self) -> Sequence[str]:
        """What the listener offers."""
        return [*SCRAM_MECHANISMS, *(["PLAIN"] if self.users else []), *(["OAUTHBEARER"] if self.jwks else [])]

    def broker_properties(self, listener: str) -> dict[str, str]:
        prefix = f"listener.name.{listener.lower()}"
        properties = {f"{prefix}.sasl.enabled.mechanisms": ",".join(self.mechanisms)}
        if self.keystore and self.ca:
            properties |= _tls(listener, self.keystore, self.ca, self.client_auth)
        for mechanism in SCRAM_MECHANISMS:
            properties[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = f"{LOGIN}.scram.ScramLoginModule required;"
        if self.users:
            known = " ".join(f'user_{user}="{password}"' for user, password in self.users.items())
            properties[f"{prefix}.plain.sasl.jaas.config"] = f"{LOGIN}.plain.PlainLoginModule required {known};"
        if self.jwks:
            properties |= {
                f"{prefix}.oauthbearer.sasl.jaas.config": f"{LOGIN}.oauthbearer.OAuthBearerLoginModule required;",
                f"{prefix}.oauthbearer.sasl.server.callback.handler.class": OAUTH_VALIDATOR,
                f"{prefix}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": self.jwks.as_uri(),
                f"{prefix}.oauthbearer.sasl.oauthbearer.expected.audience": AUDIENCE,
            }
        return properties


def jvm_options(jwks: Path) -> list[str]:
    """What the JVMs need since Kafka 4.0 to read that file."""
    return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={jwks.as_uri()}"]


def authorizer() -> dict[str, str]:
    """Properties of every node that turn ACLs on. A client that comes in plaintext, the rig and the brokers themselves, may do everything."""
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }


def _tls(listener: str, keystore: Path, ca: Path, client_auth: str) -> dict[str, str]:
    prefix = f"listener.name.{listener.lower()}.ssl"
    return {
        f"{prefix}.keystore.type": "PEM",
        f"{prefix}.keystore.location": str(keystore),
        f"{prefix}.truststore.type": "PEM",
        f"{prefix}.truststore.location": str(ca),
        f"{prefix}.client.auth": client_auth,
        f"{prefix}.principal.mapping.rules": COMMON_NAME_RULE,
    }
