# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same plans in one plain loop of one process, to see what Spark brings: the same `decide()`, the same files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import landing_lines, plan_files, worker


def plan(
    workdir: Path,
    run_id: str,
    strategy: str = "balanced",
    ranking: str = "last_written_epoch",
    folder: str = "plain",
    topic_strategies: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """Plan every cluster of a run's landing files below `<workdir>/<folder>`; return how many partitions are elected, held and online."""
    policy, options = plan_files.policy_and_options(strategy, ranking, False, topic_strategies)
    counted: Counter[str] = Counter()
    for file in sorted((workdir / "landing" / run_id).glob("*.jsonl")):
        header = landing_format.check(file)
        cluster = landing_lines.read_cluster(header)
        path = workdir / folder / run_id / f"{file.stem}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        made = plan_files.Plan(path, header, cluster)
        with file.open("rb") as lines:
            rows = plan_files.sort_and_seat({file.stem: made}, (worker.plan_row(line, file.stem, cluster, policy) for line in lines))
        plan_files.write_plan(made, options, rows)
        for (section, _word), number in made.counts.items():
            counted[section] += number
    return {"elect": counted["partitions"], "held": counted["held"], "online": counted["online"]}
