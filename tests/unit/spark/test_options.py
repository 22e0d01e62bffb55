# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that say where Spark runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.options import session_arguments, settings, stringify_conf


def module(**params: Any) -> Any:
    """What is used of an AnsibleModule."""
    given = {
        "workdir": "/var/lib/kafka-recovery",
        "spark_master": None,
        "spark_remote": None,
        "spark_conf": {},
        "spark_secret_conf": {},
        **params,
    }
    # As Ansible fills it: with the values of all options that have no_log.
    hidden = {value for conf in (given["spark_conf"], given["spark_secret_conf"]) for value in conf.values() if isinstance(value, str)}
    return SimpleNamespace(params=given, warn=print, no_log_values=hidden)


def test_settings_are_texts_as_spark_takes_them() -> None:
    assert stringify_conf({"a": True, "b": 2, "c": "x"}) == {"a": "true", "b": "2", "c": "x"}


def test_two_places_at_once_are_refused() -> None:
    with pytest.raises(RecoveryError, match="mutually exclusive"):
        session_arguments(module(spark_master="local", spark_remote="sc://host"))
    chosen = session_arguments(module(spark_master="local[2]"))
    assert (chosen["master"], chosen["remote"]) == ("local[2]", None)


def test_what_is_empty_was_not_named() -> None:
    chosen = session_arguments(module(spark_master="", spark_remote=""))
    assert chosen["master"] is None and chosen["remote"] is None


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.encryption.key",
        "spark.hadoop.fs.azure.sas.container.account.blob.core.windows.net",
        "spark.hadoop.fs.azure.account.key.lake.blob.core.windows.net",
        "spark.ssl.keyPassword",
        "spark.hadoop.fs.s3a.session.token",
        "spark.hadoop.google.cloud.credentials",
        "spark.executorEnv.AWS_SECRET_ACCESS_KEY",
    ],
)
def test_a_secret_in_spark_conf_is_refused_and_stays_hidden(name: str) -> None:
    made = module(spark_conf={name: "swordfish", "spark.executor.memory": "1g"})
    with pytest.raises(
        RecoveryError, match=rf"kafka_recovery_spark_conf\): {name} looks .* into .*kafka_recovery_spark_secret_conf\)$"
    ) as refused:
        settings(made)
    assert "swordfish" in made.no_log_values and "swordfish" not in str(refused.value)


@pytest.mark.parametrize("option", ["spark_conf", "spark_secret_conf"])
def test_a_secret_among_the_options_of_java_is_refused(option: str) -> None:
    made = module(**{option: {"spark.driver.extraJavaOptions": "-Djavax.net.ssl.trustStorePassword=swordfish"}})
    with pytest.raises(
        RecoveryError, match=rf"^{option} \(kafka_recovery_{option}\): spark\.driver\.extraJavaOptions .* command line of Java"
    ) as refused:
        settings(made)
    assert "swordfish" not in str(refused.value)


def test_what_is_no_secret_is_shown_and_what_is_one_is_not() -> None:
    plain = {
        "spark.hadoop.fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "spark.security.credentials.hive.enabled": False,
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
        "spark.executor.memory": "1g",
        "spark.app.name": "swordfish",
    }
    made = module(spark_conf=plain, spark_secret_conf={"spark.hadoop.fs.s3a.secret.key": "swordfish"})
    assert settings(made) == (stringify_conf(plain), {"spark.hadoop.fs.s3a.secret.key": "swordfish"})
    assert made.no_log_values == {"swordfish"}
