"""Modules with the options under which their answers were recorded; together they send every request that the collection sends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rig.gateway_rules import LOG_INFO_KEY

NAME = "wire"
RUN = "1"
# Topics of the recorded cluster: offline ones, each for those who elect there, and one that is online.
FORKED, NATIVE, COMPAT, UNCLEAN, ONLINE = "forked", "native", "compat", "unclean", "online"
OFFLINE = (FORKED, NATIVE, COMPAT, UNCLEAN)
PARTITIONS = 2
LEADER = 2
# Modules that read files of the run: what an election wrote, and saved records.
IMPACT, REPLAY = "kafka_consumer_impact_info", "kafka_record_replay"


_NATIVE = {"get_replica_log_info_api_key": LOG_INFO_KEY}


@dataclass(frozen=True)
class Step:
    """One module. `files`: it takes the options of a run's files. `writes`: it changes the cluster."""

    name: str
    module: str
    params: Mapping[str, Any] = field(default_factory=dict)
    files: bool = False
    check: bool = False
    writes: bool = False

    def options(self, brokers: list[str], controllers: list[str], workdir: str, request_timeout: float) -> dict[str, Any]:
        """All of the module's options."""
        connection = {"bootstrap_servers": brokers, "controller_bootstrap_servers": controllers, "request_timeout": request_timeout}
        files = {"cluster": NAME, "run_id": RUN, "workdir": workdir} if self.files else {}
        if self.module == "kafka_replication_throttle":
            files = {"cluster": NAME, "workdir": workdir}
        return {**connection, **files, **self.params}


def _rows(topic: str, **more: Any) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": number, **more} for number in range(PARTITIONS)]


_EVIDENCE = [row for topic in OFFLINE for row in _rows(topic)]
_UNCLEAN = {
    "election_type": "unclean",
    "partitions": _rows(UNCLEAN),
    "duration": 1.0,
    "election_attempts": 0,
    "allow_data_loss": True,
    "hold_unsaved": False,
}


def _election(topic: str, **more: Any) -> dict[str, Any]:
    quick = {"duration": 1.0, "election_attempts": 0, "quorum_window": 0.1, "allow_data_loss": True}
    return {"partitions": _rows(topic, designated_leader=LEADER), **quick, **more}


STEPS = (
    Step("partitions", "kafka_partition_info", {"state": "all"}),
    Step("named partitions", "kafka_partition_info", {"state": "all", "partitions": _rows(FORKED)}),
    Step("lost brokers", "kafka_lost_broker_info", {"lost_brokers": [1]}),
    Step("quorum", "kafka_quorum_info", {"window": 0.1}),
    Step("permissions", "kafka_permission_info", {"elect": True, **_NATIVE}),
    Step("readiness", "kafka_readiness_info", {"elect": True, "window": 0.1, **_NATIVE}),
    Step("watermarks", "kafka_watermark_info", {"followers": "all"}, files=True),
    Step("evidence", "kafka_replica_log_info", {"partitions": _EVIDENCE, "duration": 1.0, **_NATIVE}, files=True),
    Step("evidence compat", "kafka_replica_log_info", {"partitions": _EVIDENCE, "duration": 1.0, "backend": "compat"}, files=True),
    Step("reassignments", "kafka_partition_reassignment_info", {"layout": True}, files=True),
    Step("unclean check", "kafka_leader_election", _UNCLEAN, check=True),
    Step("election check", "kafka_designated_election", _election(NATIVE, **_NATIVE), files=True, check=True),
    Step("move check", "kafka_partition_reassignment", {"partitions": _rows(ONLINE, replicas=[3, 2])}, files=True, check=True),
    Step("throttle check", "kafka_replication_throttle", {"rate": 1_000_000, "measure_seconds": 0.1}, check=True),
    Step("unclean", "kafka_leader_election", _UNCLEAN, writes=True),
    Step("election compat", "kafka_designated_election", _election(COMPAT, backend="compat"), files=True, writes=True),
    Step("election", "kafka_designated_election", _election(NATIVE, **_NATIVE), files=True, writes=True),
    Step("impact", IMPACT, {"canary_topic": ONLINE}, files=True, writes=True),
    Step("throttle", "kafka_replication_throttle", {"rate": 1_000_000, "measure_seconds": 0.1}, writes=True),
    Step("move", "kafka_partition_reassignment", {"partitions": _rows(ONLINE, replicas=[3, 2]), "duration": 5.0}, files=True, writes=True),
)
_READINESS, _COLLECTION = (next(step for step in STEPS if step.name == name) for name in ("readiness", "evidence"))
# Not recorded: it gets the answers that the steps of its two parts got.
TOGETHER = Step("readiness and evidence", "kafka_recovery_evidence_info", {**_READINESS.params, **_COLLECTION.params}, files=True)
TOGETHER_PARTS = (_READINESS.name, _COLLECTION.name)
