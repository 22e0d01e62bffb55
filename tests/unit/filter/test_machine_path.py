# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the role rescue copies disks to: always a folder of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError
from role_plays import local_play, played, variables_of

from ansible_collections.streamops.kafka_recovery.plugins.filter.machine_path import machine_path


@pytest.mark.slow
def test_disks_are_copied_into_a_folder_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    role = variables_of("common", "rescue")
    hosts = {
        "east": {**role, "kafka_recovery_workdir": "/data/recovery"},
        "west": {**role, "kafka_recovery_workdir": "s3://bucket/recovery"},
    }
    found = played(local_play(tmp_path, hosts, [{"ansible.builtin.debug": {"var": "kafka_recovery_rescue_folder"}}]))
    assert "/data/recovery/rescue/east" in found["east"].text
    assert str(tmp_path) in found["west"].text and "/rescue/west" in found["west"].text and "s3:" not in found["west"].text


def test_a_url_that_is_not_valid_is_named() -> None:
    with pytest.raises(AnsibleFilterError, match="not the URL of a folder"):
        machine_path("s3://bucket/../other")
