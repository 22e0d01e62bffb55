# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sha256 of a file that is handed from task to task."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_digest
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError


def test_it_is_what_sha256sum_prints(tmp_path: Path) -> None:
    target = io.BytesIO()
    stream = file_digest.DigestStream(target)
    for part in (b"a", b"", b"bc\n"):
        stream.write(part)
    file = tmp_path / "plan.json"
    file.write_bytes(target.getvalue())
    printed = subprocess.run(["sha256sum", str(file)], capture_output=True, text=True, check=True).stdout.split()[0]
    assert printed == stream.sha256 == file_digest.sha256(b"abc\n")
    file_digest.check(b"abc\n", printed, file, "plan_sha256")
    file_digest.check(b"anything", None, file, "plan_sha256")


@pytest.mark.parametrize("expected", ["", "0" * 64, "0" * 63, "G" * 64, file_digest.sha256(b"abc\n").upper(), "x\n" * 99])
def test_everything_else_is_refused_with_the_file_or_the_option(expected: str) -> None:
    with pytest.raises(RecoveryError, match=r"east\.json has sha256|plan_sha256 .* is not a sha256"):
        file_digest.check(b"abc\n", expected, "east.json", "plan_sha256")
