# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The newest patch of a release, out of what a repository lists."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rig import RigError, patches


def listing(*artifacts: list[str]) -> Callable[[str], set[str]]:
    """A repository that lists these versions of each artifact, oldest first."""

    def newest_in(versions: str) -> set[str]:
        end = versions.strip("[)").split(",")[1]
        found = [known[: known.index(end) if end in known else None] for known in artifacts]
        if not all(found):
            raise RigError(f"nothing in {versions}")
        return {known[-1] for known in found}

    return newest_in


@pytest.mark.parametrize(
    ("artifacts", "newest"),
    [
        ([["4.2.0", "4.2.1"]], "4.2.1"),
        ([["4.2.9", "4.2.10"]], "4.2.10"),
        ([["4.2.0", "4.2.1-alpha", "4.2.1-rc1", "4.2.1-rc2"]], "4.2.0"),
        ([["4.2.9", "4.2.10"], ["4.2.9"]], "4.2.9"),  # a release that is not there with everything yet
        ([["4.2.0", "4.2.1-rc1"], ["4.2.0"]], "4.2.0"),
    ],
)
def test_the_newest_patch_is_complete_and_no_candidate(artifacts: list[list[str]], newest: str) -> None:
    assert patches.choose("4.2", listing(*artifacts)) == newest


def test_a_release_with_candidates_only_is_an_error() -> None:
    with pytest.raises(RigError, match=r"nothing in \[4\.2\.0,4\.2\.0-rc1\)"):
        patches.choose("4.2", listing(["4.2.0-rc1"]))


def test_a_full_version_is_taken_as_it_stands() -> None:
    assert patches.exact("4.3.1") == "4.3.1"
