# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many people signed: never more than there are keys, or names, whatever the lines of the file of allowed signers are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.different_signers import Signer, people

NAMES = st.sampled_from(["ada@example.com", "ADA@example.com", "bob@example.com", "cyd@example.com", "*@example.com"])
SIGNERS = st.lists(st.builds(Signer, NAMES, st.sampled_from(["SHA256:1", "SHA256:2", "SHA256:3"]), st.frozensets(NAMES)), max_size=6)


def signer(name: str, key: str, *names: str) -> Signer:
    return Signer(name, key, frozenset(names))


@pytest.mark.parametrize(
    ("signers", "expected"),
    [
        ([], 0),
        ([signer("ada", "1")], 1),
        ([signer("ada", "1"), signer("bob", "2")], 2),
        ([signer("ada", "1"), signer("bob", "1")], 1),
        ([signer("ada", "1"), signer("ada", "2")], 1),
        ([signer("ada", "1"), signer("Ada", "2")], 1),
        ([signer("ada", "1"), signer("bob", "2", "bob", "ada")], 1),
        ([signer("ada", "1"), signer("bob", "2"), signer("cyd", "3", "ada", "bob")], 1),
        ([signer("ada", "1"), signer("*", "2")], 1),
        ([signer("ada", "1"), signer("bob", "2", "bob", "*@example.com")], 1),
        ([signer("*@example.com", "1")], 0),
    ],
)
def test_a_key_and_a_name_count_once(signers: list[Signer], expected: int) -> None:
    assert people(signers) == expected
    assert people(reversed(signers)) == expected


@given(SIGNERS, st.randoms())
def test_no_order_and_no_repetition_makes_more_people(signers: list[Signer], random: st.DrawFn) -> None:
    shuffled = [*signers, *signers]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = people(signers)
    assert people(shuffled) == found
    persons = [signer for signer in signers if signer.is_person]
    assert found <= min(len({signer.fingerprint for signer in persons}), len({signer.principal.casefold() for signer in persons}))
    assert bool(found) == bool(persons)
