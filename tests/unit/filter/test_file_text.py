# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.streamops.kafka_recovery.plugins.filter.file_text import file_text

TOP = Path(__file__).parents[3]


def test_a_file_that_is_missing_has_no_text_and_one_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "east.json").write_text('{"é": 1}', encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    assert file_text(str(tmp_path / "east.json")) == '{"é": 1}'
    assert file_text(str(tmp_path / "west.json")) == ""
    for name in ("pipe", "."):
        with pytest.raises(AnsibleFilterError, match=re.escape(str(tmp_path / name))) as caught:
            file_text(str(tmp_path / name))
        assert caught.value.__suppress_context__ and caught.value.__cause__ is None, "Ansible appends the messages of causes"
    with pytest.raises(AnsibleFilterError, match="credentials belong into the environment"):
        file_text("s3://bucket/../east.json")


def test_playbooks_read_no_file_of_a_workdir_in_a_way_that_does_not_know_urls() -> None:
    blind = re.compile(r"\bis (not )?(exists|file)\b|lookup\('(ansible\.builtin\.)?file'")
    files = [path for folder in ("playbooks", "roles") for path in (TOP / folder).rglob("*.yml")]
    assert len(files) > 50
    assert [str(path) for path in files if blind.search(path.read_text(encoding="utf-8"))] == []
