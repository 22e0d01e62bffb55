# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of Java properties."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.properties import properties


def test_what_properties_would_take_for_something_else_is_escaped() -> None:
    assert properties({"a.b": "plain-1.0/x", "#k y": "p=a:s\\s!\nw"}) == b"a.b=plain-1.0/x\n\\#k\\ y=p\\=a\\:s\\\\s\\!\\nw\n"
