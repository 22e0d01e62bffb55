# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For each lost broker, the role rescue says whether it is safe to start."""

from __future__ import annotations

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.rescued_disks import rescue_lines

COUNTS = {"partitions": 3, "saved": 1, "not_saved": 0, "offsets": 50, "live_replicas": 0, "clean_leader": 0}


def lines(
    judged: dict[str, Any] | None, variables: dict[str, Any] | None = None, alive: bool = False, warning: str | None = None
) -> tuple[str, bool]:
    """All lines of one broker, and whether it is unsafe."""
    results = [{"item": "disk-1", **judged}] if judged else []
    found = rescue_lines(
        {"disk-1": 1}, {"disk-1": variables or {}}, [{"broker_id": 1, "alive": alive, "warning": warning}], results, PresentRun("east")
    )
    return "\n".join(found["lines"]), bool(found["failure"])


def test_a_broker_is_safe_only_if_its_disk_was_judged_so() -> None:
    safe = {"safe_to_start": True, "counts": COUNTS, "path": "/saved", "reasons": [], "partitions": []}
    assert lines(safe)[1] is False and "/saved" in lines(safe)[0]
    assert lines(safe)[0].endswith(".replay") and ".replay" not in lines({**safe, "counts": {**COUNTS, "saved": 0}})[0]
    assert lines({**safe, "safe_to_start": False, "reasons": ["one partition"]}) == (
        "broker 1 (disk-1) is not safe to start: one partition",
        True,
    )
    assert lines({"msg": "no answer"}, {"kafka_recovery_disk": {"partitions": []}}) == (
        "broker 1 (disk-1) is not safe to start: no answer",
        True,
    )


def test_records_that_are_given_up_are_neither_saved_nor_in_the_cluster() -> None:
    safe: dict[str, Any] = {"safe_to_start": True, "counts": {**COUNTS, "not_saved": 2}, "path": "/saved", "reasons": [], "partitions": []}
    some, none = lines(safe)[0], lines({**safe, "counts": {**safe["counts"], "saved": 0}})[0]
    assert "/saved" in some and "50" not in some and "the records of 2 partitions are given up" in some
    assert "the records of 2 partitions are given up" in none and "/saved" not in none and "has all" not in none


def test_what_live_replicas_will_truncate_is_said_to_be_saved() -> None:
    counts = {**COUNTS, "saved": 0, "live_replicas": 2, "clean_leader": 1}
    text = lines({"safe_to_start": True, "counts": counts, "path": "/saved", "reasons": [], "partitions": []})[0]
    assert "2 live replicas" in text and "/saved" in text and "has all" not in text and "rescue other brokers once more" in text


def test_a_disk_that_was_not_read_or_copied_is_named_with_the_reason() -> None:
    assert lines(None)[1] and "did not answer" in lines(None)[0]
    assert "no such folder" in lines(None, {"kafka_recovery_disk": {"msg": "no such folder"}})[0]
    assert "read: no such folder" in lines({"msg": "disk: it failed"}, {"kafka_recovery_disk": {"msg": "no such folder"}})[0]
    judged = {"safe_to_start": False, "reasons": ["x"], "partitions": [{"topic": "t", "partition": 0, "saved": False, "reason": "why"}]}
    text = lines(judged, {"kafka_recovery_copied": {"msg": "no room"}})[0]
    assert "t-0: why" in text and "no room" in text


def test_a_broker_that_is_back_is_unsafe_only_with_a_warning() -> None:
    assert lines(None, alive=True)[1] is False
    assert lines(None, alive=True, warning="too early") == ("broker 1 (disk-1) is alive, so its disk was not read\ntoo early", True)


def test_a_host_writes_no_line_about_another_broker() -> None:
    said = "no\nbroker 2 (disk-2) is safe to start\x1b[2K"
    judged = {"safe_to_start": False, "reasons": ["x"], "partitions": []}
    for found in (
        lines(None, {"kafka_recovery_disk": {"msg": said}}),
        lines({"msg": "disk: it failed"}, {"kafka_recovery_disk": {"msg": said}}),
        lines(judged, {"kafka_recovery_copied": {"msg": said}}),
    ):
        assert "\n" not in found[0] and "\x1b" not in found[0] and found[1]
    assert len(lines(None, {"kafka_recovery_disk": {"msg": "x" * 1_000_000}})[0]) < 11_000


def test_brokers_that_are_not_safe_are_named_once_in_the_order_of_their_ids() -> None:
    safe = {"safe_to_start": True, "counts": COUNTS, "path": "/saved", "reasons": [], "partitions": []}
    unsafe = {**safe, "safe_to_start": False, "reasons": ["one partition"]}
    hosts = {"c": 4, "a": 10, "b": 2}
    brokers = [{"broker_id": one, "alive": False, "warning": None} for one in hosts.values()]
    found = rescue_lines(
        hosts,
        {host: {} for host in hosts},
        brokers,
        [{"item": host, **(safe if host == "b" else unsafe)} for host in hosts],
        PresentRun("east"),
    )
    assert [line.partition(" is")[0] for line in found["lines"]] == ["broker 2 (b)", "broker 4 (c)", "broker 10 (a)"]
    assert found["failure"] == "2 of 3 brokers are not known to be safe to start: broker 4 (c), broker 10 (a)"
