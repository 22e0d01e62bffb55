# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Committed offsets of the partitions of one revival: which groups skip new records, reset before the election, put back if nothing was revived."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.revival_cluster import RevivalCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival import groups
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import RevivalJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.progress import Progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.rule import REVIVED


class RevivalOffsets:
    """The groups with committed offsets on the partitions of a revival. `wanted`: whether groups without members are reset."""

    def __init__(self, cluster: RevivalCluster, journal: RevivalJournal, progress: Progress, wanted: bool) -> None:
        self._cluster, self._journal, self._progress, self.wanted = cluster, journal, progress, wanted
        self._groups = groups.GroupsOfRevival([], [])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return the offsets that the new logs do not reach, as dicts for JSON."""
        return self._groups.rows()

    @property
    def all(self) -> list[groups.CommittedOffset]:
        """Return the offsets that the new logs do not reach."""
        return self._groups.offsets

    @property
    def blind(self) -> list[str]:
        """Return the reasons why there may be more groups."""
        return self._groups.blind

    def read(self, keys: Collection[TopicPartition]) -> None:
        """Read the groups. Holds partitions whose groups are to be reset and cannot be read."""
        if keys:
            self._groups = groups.read(self._cluster, keys)
        if self.wanted and self.blind:
            sentence = (
                f"not all groups with offsets on it can be read ({self.blind[0]}), so none is reset; repair that, or leave out reset_groups"
            )
            self._progress.hold([key for key in keys if not key[0].startswith("__")], ReasonCode.OFFSETS_NOT_RESET, sentence)

    def reset(self, keys: Collection[TopicPartition]) -> bool:
        """Commit offset 0 for groups without members, before there is a leader that takes records: none can be skipped. Return whether any was."""
        old = groups.without_members(self._groups, keys)
        if not old:
            return False
        self._journal.reset(old)
        for key, group, error in groups.reset(self._cluster, self._groups, old):
            sentence = f"the offset of group {printable(group)} cannot be reset: {error}; stop it, then run again"
            self._progress.hold([key], ReasonCode.OFFSETS_NOT_RESET, sentence)
        return True

    def put_back(self) -> list[str] | None:
        """Put back the offsets of groups that this run, or a killed one, has reset for partitions that are not revived.

        Returns a warning for each that Kafka refuses, None if there was nothing to put back.
        """
        old = {key: offsets for key, offsets in self._journal.offsets.items() if self._keeps_its_records(key)}
        if not old:
            return None
        errors = groups.put_back(self._cluster, self._groups, old)
        self._journal.restore(old.keys() - {key for _group, key in errors})
        return [_not_put_back(group, key, old[key][group], error) for (group, key), error in errors.items()]

    def _keeps_its_records(self, key: TopicPartition) -> bool:
        begun, state = self._journal.open.get(key), self._progress.states.get(key)
        return (
            begun is not None
            and state is not None
            and state.topic_id == begun.topic_id
            and state.leader not in begun.target
            and not {*begun.original}.isdisjoint(state.replicas)
            and self._progress.verdicts[key].outcome in (Outcome.HELD, Outcome.ALREADY_ONLINE)
        )

    def skipping(self, dry_run: bool) -> list[groups.CommittedOffset]:
        """Return the offsets that are not reset, on partitions that are not held. In a dry run, those that would not be reset."""
        changed = {key for key, one in self._progress.verdicts.items() if one.awaits_permission or one.outcome in (REVIVED, Outcome.FAILED)}
        expected = groups.without_members(self._groups, changed) if dry_run and self.wanted else {}
        rows = [one for one in self._groups.offsets if (one.topic, one.partition) in changed and not one.reset]
        return [one for one in rows if one.group not in expected.get((one.topic, one.partition), ())]


def _not_put_back(group: str, key: TopicPartition, offset: int, error: str) -> str:
    return (
        f"the offset of group {printable(group)} on {key[0]}-{key[1]} was {offset} before it was reset to 0, and cannot be put back ({error}); "
        "stop the group, then run again"
    )
