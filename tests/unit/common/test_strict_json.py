# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON that is refused: where, in one line whatever the file holds. What is let through is tested with the files that are read so."""

from __future__ import annotations

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import ContentError, check, parse


@pytest.mark.parametrize(("content", "said"), [
    (b'{"a": [1, {"b": NaN}]}', "a[1].b: NaN is not a finite number"),
    (b'{"a\\nb": {"\\u001b[1m": NaN}}', "a\\nb.\\x1b[1m: NaN is not a finite number"),
    (b'{"a": {"b\\n": 1, "b\\n": 2}}', "a: duplicate key 'b\\n' in an object"),
])  # fmt: skip
def test_the_error_names_the_place_in_one_line(content: bytes, said: str) -> None:
    with pytest.raises(ContentError) as caught:
        parse(content)
    assert str(caught.value) == said


@pytest.mark.parametrize("value", [10**400, -(10**400)], ids=["positive", "negative"])
def test_a_whole_number_that_is_no_number_with_decimals_is_refused(value: int) -> None:
    check([{"seconds": 10**300}, {"seconds": 0.5}], [{"seconds": float}])
    with pytest.raises(ContentError, match=r"\[1\].seconds: .* is too large"):
        check([{"seconds": 1.0}, {"seconds": value}], [{"seconds": float}])
