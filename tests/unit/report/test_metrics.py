# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of a report, as a collector reads them, and the alerts on them."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from report_samples import incident, partition, sample
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import metrics, prometheus_file

RULES = ROOT / "roles/report/files/kafka_recovery.rules.yml"


def read(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """Samples by name, and by the values of their labels in the order of the labels' names."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        for row in family.samples:
            found.setdefault(row.name, {})[tuple(value for _, value in sorted(row.labels.items()))] = row.value
    return found


def exposed(document: dict[str, Any]) -> dict[str, dict[tuple[str, ...], float]]:
    return read(prometheus_client.generate_latest(metrics.registry(document)).decode())


def test_they_say_what_the_report_says(tmp_path: Path) -> None:
    path = tmp_path / "kafka_recovery.prom"
    prometheus_file.write(path, incident())
    assert path.stat().st_mode & 0o777 == 0o644
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    found = read(path.read_text())
    assert found["kafka_recovery_manual_leader_election_required_partition_count"] == {("east", "forked"): 2, ("west", "no_survivor"): 1}
    assert found["kafka_recovery_unclean_recovery_partitions_count"] == {("east",): 0, ("west",): 0}
    assert found["kafka_recovery_partitions"]["east", "elected"] == 9
    assert found["kafka_recovery_unclean_recovery_finished_count"] == {("east", "prefix", "balanced"): 9}
    assert found["kafka_recovery_unclean_recovery_finished_timestamp_seconds"] == {("east", "prefix", "balanced"): 1795229278}
    assert found["kafka_recovery_oldest_offline_timestamp_seconds"]["east",] == 1795228867
    assert found["kafka_recovery_risk_partitions"] == {("east", "no_eligible_leader"): 6, ("east", "below_min_isr"): 6}
    assert found["kafka_recovery_snapshot_timestamp_seconds"]["east",] < found["kafka_recovery_report_timestamp_seconds"][()]
    assert found["kafka_recovery_loss_at_least_offsets"]["east", "given_up"] == 987
    assert found["kafka_recovery_loss_at_most_offsets"] == {("east", "given_up"): 1900}, "no sum of what is unknown"
    assert found["kafka_recovery_loss_at_most_unknown_partitions"]["west", "given_up"] == 4
    impact = found["kafka_recovery_impact"]
    assert (impact["east", "groups"], impact["east", "transactions_hanging"], impact["east", "not_readable"]) == (1, 1, 0)
    assert {cluster for cluster, _ in impact} == {"east"}, "the impact on west was not read"
    assert ("east", "partitions") not in impact, "these are not hit"


def test_moves_throttles_and_the_quorum_are_there() -> None:
    found = exposed(incident())
    assert found["kafka_recovery_reassignment_partitions"] == {("east", "in_sync"): 31, ("east", "left"): 9}
    assert found["kafka_recovery_reassignment_bytes_behind"]["east",] == 7_000_000
    assert found["kafka_recovery_reassignment_ended"]["east",] == 0
    assert found["kafka_recovery_throttles"] == {("east", "run"): 5, ("east", "standing"): 2}
    assert found["kafka_recovery_left_over_throttles"]["east",] == 5
    assert found["kafka_recovery_quorum_stable"] == {("east", "stable"): 1}
    assert found["kafka_recovery_quorum_voters"] == {("east", "following"): 2, ("east", "behind"): 1}
    assert found["kafka_recovery_quorum_leader_epoch"]["east",] == 4
    times = ("reassignment", "quorum")
    assert all(
        found[f"kafka_recovery_{name}_timestamp_seconds"]["east",] < found["kafka_recovery_report_timestamp_seconds"][()] for name in times
    )


def test_partitions_are_counted_by_how_many_replicas_may_lead_them() -> None:
    found = exposed(incident())
    leaders = {key: number for key, number in found["kafka_recovery_electable_leaders_partitions"].items() if key[0] == "east"}
    assert leaders == {("east", "0"): 0, ("east", "1"): 6, ("east", "2+"): found["kafka_recovery_snapshot_partitions"]["east",] - 6}
    assert found["kafka_recovery_global_under_min_isr_partition_count"]["east",] == 6


def test_partitions_that_a_plan_elects_are_under_recovery_until_they_have_a_leader() -> None:
    rows = [
        partition("east", "orders", number, outcome) for number, outcome in enumerate(("planned", "failed", "stale", "held", "elected"))
    ]
    assert exposed(sample(rows, risk=False))["kafka_recovery_unclean_recovery_partitions_count"] == {("east",): 3}


def test_nothing_is_a_counter_because_old_days_are_removed_from_the_history() -> None:
    families = text_string_to_metric_families(prometheus_client.generate_latest(metrics.registry(incident())).decode())
    assert {family.type for family in families} == {"gauge"}


def test_an_alert_can_end_because_a_calm_cluster_says_zero() -> None:
    calm = exposed(sample([partition("east", "orders", 0, "elected")], risk=False))
    assert calm["kafka_recovery_manual_leader_election_required_partition_count"] == {("east", "none"): 0}
    assert "kafka_recovery_oldest_offline_timestamp_seconds" not in calm


def test_hostile_names_stay_values_of_labels() -> None:
    strange = 'a"} 1\nkafka_recovery_partitions{cluster="b\\'
    found = exposed(sample([partition(strange, "orders", 0, "held", reason_code="forked")], risk=False))
    assert found["kafka_recovery_manual_leader_election_required_partition_count"] == {(strange, "forked"): 1}
    assert {cluster for cluster, _ in found["kafka_recovery_partitions"]} == {strange}


@pytest.mark.parametrize(("name", "complaint"), [("nowhere/a.prom", "make its directory first"), ("a.txt", "must end with .prom")])
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, name: str, complaint: str) -> None:
    with pytest.raises(FileError, match=complaint):
        prometheus_file.write(tmp_path / name, incident())
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "a.prom").symlink_to(tmp_path / "b.prom")
    with pytest.raises(FileError, match="symbolic link"):
        prometheus_file.write(tmp_path / "a.prom", incident())
    assert not (tmp_path / "b.prom").exists()


def test_nothing_that_the_owner_of_the_directory_swaps_in_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The textfile collector's directory often belongs to another user."""
    (folder := tmp_path / "collector").mkdir()
    path, victim = folder / "a.prom", tmp_path / "victim"
    victim.touch(mode=0o600)
    (folder / f"a.prom.{os.getpid()}.{threading.get_ident()}").symlink_to(victim)
    renamed = os.rename

    def swap(*names: Any, **folders: Any) -> None:
        renamed(*names, **folders)
        path.unlink()
        path.symlink_to(victim)

    monkeypatch.setattr(os, "rename", swap)
    prometheus_file.write(path, incident())
    assert path.readlink() == victim, "it was swapped"
    assert (victim.stat().st_mode & 0o777, victim.read_text()) == (0o600, "")


def test_a_directory_in_which_every_user_can_replace_files_is_refused(tmp_path: Path) -> None:
    (folder := tmp_path / "collector").mkdir()
    folder.chmod(0o777)
    with pytest.raises(FileError, match=f"chmod o-w {folder}"):
        prometheus_file.write(folder / "a.prom", incident())
    assert list(folder.iterdir()) == []
    folder.chmod(0o1777)
    prometheus_file.write(folder / "a.prom", incident())
    assert [file.name for file in folder.iterdir()] == ["a.prom"]


def test_alerts_are_on_metrics_that_exist_and_say_what_to_run() -> None:
    refused = [{"cluster": "east", "run_id": "1", "refused_at": None, "kind": "landing", "path": "p", "reason": "r"}]
    known = set(exposed(sample([partition("east", "orders", 0, "held", reason_code="forked")], refused=refused)))
    known |= set(exposed(incident()))
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    records = {rule["record"] for rule in rules if "record" in rule}
    used = {name for rule in rules for name in re.findall(r"\bkafka_recovery[a-z_:]*", rule["expr"])}
    assert used - records <= known
    alerts = [rule for rule in rules if "alert" in rule]
    assert len({rule["alert"] for rule in alerts}) == len(alerts) == len(rules) - len(records)
    for rule in alerts:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+m", rule["for"])
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert rule["annotations"]["summary"] and "streamops.kafka_recovery." in rule["annotations"]["runbook"]
        playbook = re.search(r"streamops\.kafka_recovery\.(\w+)", rule["annotations"]["runbook"])
        assert playbook and (RULES.parents[3] / "playbooks" / f"{playbook[1]}.yml").is_file()
