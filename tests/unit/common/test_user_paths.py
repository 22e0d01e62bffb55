# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths in the home directory of a user that the machine does not have."""

from __future__ import annotations

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.user_paths import check_user_paths

SPEC = {"workdir": {"type": "path"}, "log_dirs": {"type": "list", "elements": "path"}, "password": {"type": "str"}}


@pytest.mark.parametrize("params", [{"workdir": "~no-such-user/work"}, {"log_dirs": ["/mnt", "~no-such-user"]}])
def test_a_user_that_does_not_exist_is_named_with_the_option(params: dict[str, object]) -> None:
    with pytest.raises(RecoveryError, match=f"^{next(iter(params))} is ~no-such-user.*no user no-such-user"):
        check_user_paths(SPEC, params)


@pytest.mark.parametrize(
    "params", [{}, {"workdir": None}, {"workdir": "~/work"}, {"workdir": "~root"}, {"workdir": "a/~b"}, {"password": "~no-such-user"}]
)
def test_other_values_are_accepted(params: dict[str, object]) -> None:
    check_user_paths(SPEC, params)
