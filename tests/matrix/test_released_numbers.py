# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of each release, from its jars: records of the metadata log that it writes, and API keys and error codes that KIP-1275 cannot have any more."""

from __future__ import annotations

import pytest
from matrix.cells import RELEASES, newest_patch
from wire.kafka_layouts import Layouts

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.backend_selection import RELEASED_KEYS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.kip1275_numbers import REQUEST_LIMIT_REACHED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.metadata_records import IRRELEVANT, READERS
from rig import jars
from rig.jvm import jvm

NEVER_WRITTEN = {6}  # AccessControlRecord, which the jars of 3.3 and 3.4 have and no controller uses
every_release = pytest.mark.parametrize("release", RELEASES)


@every_release
def test_every_record_of_the_metadata_log_is_known(release: str) -> None:
    layouts = Layouts(jars.libs(newest_patch(release)))
    written = {layouts.key(name): max(layouts.versions(name)) for name in layouts.of_type("metadata")}
    assert len(written) > 10
    read = {key: newest for key, (newest, _read) in READERS.items()}
    assert {key for key, newest in written.items() if key not in IRRELEVANT | NEVER_WRITTEN and newest > read.get(key, -1)} == set()


@every_release
def test_no_message_has_a_key_that_operators_may_give_to_kip_1275(release: str) -> None:
    layouts = Layouts(jars.libs(newest_patch(release)))
    assert max(layouts.key(name) for name in layouts.of_type("request")) <= RELEASED_KEYS


@every_release
def test_no_error_has_a_code_that_operators_may_give_to_kip_1275(release: str) -> None:
    with jvm(jars.libs(newest_patch(release))) as gateway:
        assert max(error.code() for error in gateway.jvm.org.apache.kafka.common.protocol.Errors.values()) < REQUEST_LIMIT_REACHED
