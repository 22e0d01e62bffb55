# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds risks of a metadata quorum that is stable now (KIP-996, KIP-853), and facts about it that are unknown. Pure: no I/O.

A risk does not stop a recovery. `preflight/quorum_stability.py` decides what does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import PRE_VOTE_SINCE, Quorum

ELECTION, FETCH, REQUEST = (f"controller.quorum.{name}.timeout.ms" for name in ("election", "fetch", "request"))
# Kafka's defaults in ms, since 3.9 and in KIP-595, and the effect of a smaller value.
DEFAULT_TIMEOUTS = {ELECTION: 1000, FETCH: 2000, REQUEST: 2000}
EFFECTS = {
    ELECTION: "a candidate gives up before slow voters have answered, and starts another election",
    FETCH: "a short pause of the leader or the network makes a voter start an election",
    REQUEST: "requests between controllers end before a slow one has answered",
}
EFFECT_ON_BROKERS = "a short pause of the leader makes the broker look for another one"
Row = Mapping[str, Any]


class QuorumNodes(NamedTuple):
    """Facts about the nodes of a quorum and its observers; None if unknown.

    controllers   rows of `Controllers.rows`, empty without controller_bootstrap_servers
    brokers       timeouts in ms by name, by id of the brokers that answered
    registered    ids of all registered brokers, fenced or not
    kraft_version level of the feature `kraft.version`: from 1 on voters are identified by their directory, too (KIP-853)
    """

    controllers: Sequence[Row]
    brokers: Mapping[int, Mapping[str, int]]
    registered: Collection[int] | None
    kraft_version: int | None


def assess(quorum: Quorum | None, around: QuorumNodes) -> dict[str, Any]:
    """Return the keys `pre_vote_supported`, `pre_vote_reason`, `timeouts` (rows by node, in seconds), `kraft_version`, `risks`, `unknown`.

    `risks` and `unknown` are sentences. Risks: no pre-vote (KIP-996), timeouts below Kafka's defaults, a voter with a new disk (KIP-853).

    `quorum` is None if no leader describes it. A quorum of one voter has no elections, so it has no risks.
    """
    supported, reason = pre_vote(around.controllers, quorum)
    timeouts = _timeouts(around)
    risks: list[str] = []
    unknown: list[str] = []
    if quorum is None or len(quorum.voters) > 1:
        if supported is None:
            unknown.append(f"pre-vote (KIP-996): {reason}")
        elif not supported:
            risks.append(f"the quorum has no pre-vote (KIP-996): {reason}")
        risks += _low(timeouts, quorum)
    if quorum is not None and len(quorum.voters) > 1:
        without = sorted({voter.replica_id for voter in quorum.voters} - {row["node_id"] for row in timeouts})
        if without:
            unknown.append(f"controller.quorum.*.timeout.ms of voters {join_ids(without)}: {_reason(around.controllers)}")
        risks += _membership(quorum, around.registered)
    return {
        "pre_vote_supported": supported,
        "pre_vote_reason": reason,
        "kraft_version": around.kraft_version,
        "timeouts": timeouts,
        "risks": risks,
        "unknown": unknown,
    }


def pre_vote(controllers: Sequence[Row], quorum: Quorum | None) -> tuple[bool | None, str]:
    """Return whether every voter supports pre-vote (KIP-996), and the reason. None if it is not known of every voter.

    One controller without pre-vote suffices for False, unless it is known not to be a voter.
    """
    if not controllers:
        return None, "not known: only controllers answer it, and controller_bootstrap_servers is not set"
    if quorum is None:
        without = [row["address"] for row in controllers if row["pre_vote"] is False]
    else:
        ids = {voter.replica_id for voter in quorum.voters}
        without = [row["address"] for row in controllers if row["pre_vote"] is False and row["node_id"] in {None, *ids}]
    if without:
        return (
            False,
            f"{', '.join(without)} without Vote version {PRE_VOTE_SINCE}; a voter that was cut off forces elections when it returns",
        )
    if quorum is None:
        return None, "not known: no leader lists the voters"
    missing = sorted(ids - {row["node_id"] for row in controllers if row["pre_vote"]})
    if missing:
        unmatched = [f"{row['address']} ({row['error'] or 'matches no voter'})" for row in controllers if row["node_id"] is None]
        others = f"; {', '.join(unmatched)}" if unmatched else ""
        return None, f"not known of voters {join_ids(missing)}: they do not answer at controller_bootstrap_servers{others}"
    return True, f"yes: all voters offer Vote version {PRE_VOTE_SINCE}"


def _timeouts(around: QuorumNodes) -> list[dict[str, Any]]:
    """Return a row for each node whose timeouts are known, in seconds, sorted by id."""
    known = {row["node_id"]: row["timeouts"] for row in around.controllers if row["node_id"] is not None and row["timeouts"]}
    known = {**around.brokers, **known}
    return [
        {"node_id": node, **{_short(name): values[name] / 1000 for name in DEFAULT_TIMEOUTS if name in values}}
        for node, values in sorted(known.items())
        if values
    ]


def _low(timeouts: Sequence[Mapping[str, Any]], quorum: Quorum | None) -> Iterator[str]:
    """Yield a sentence for timeouts below Kafka's defaults, nodes with the same value together. Of other brokers only the fetch timeout counts."""
    voters = {voter.replica_id for voter in quorum.voters} if quorum else {row["node_id"] for row in timeouts}
    for name, default in DEFAULT_TIMEOUTS.items():
        low: dict[tuple[bool, float], list[int]] = {}
        for row in timeouts:
            votes, seconds = row["node_id"] in voters, row.get(_short(name))
            if seconds is not None and seconds * 1000 < default and (votes or name == FETCH):
                low.setdefault((not votes, seconds), []).append(row["node_id"])
        for (no_vote, seconds), ids in sorted(low.items()):
            effect = EFFECT_ON_BROKERS if no_vote else EFFECTS[name]
            yield f"{name} is {seconds * 1000:.0f} on {join_ids(ids)}, below Kafka's default of {default}: {effect}"


def _membership(quorum: Quorum, registered: Collection[int] | None) -> Iterator[str]:
    """Yield a sentence for each voter with a new disk, and for each controller without a vote."""
    voters = {voter.replica_id: voter.directory_id for voter in quorum.voters}
    for observer in quorum.observers:
        node, directory = observer.replica_id, observer.directory_id
        if voters.get(node) is not None and directory != voters[node]:
            yield (
                f"voter {node} follows with directory {directory} and has no vote there: the voters have its directory {voters[node]}, whose disk is "
                f"lost or was formatted; remove that voter and add the new one (kafka-metadata-quorum.sh remove-controller, add-controller)"
            )
        elif registered is not None and node not in voters and node not in registered:
            yield (
                f"node {node} follows the metadata log and is neither a voter nor a registered broker: a controller that was removed, or that is "
                "still to be added to the voters"
            )


def _reason(controllers: Sequence[Row]) -> str:
    if not controllers:
        return "controller_bootstrap_servers is not set"
    reasons = sorted({f"{row['address']}: {reason}" for row in controllers if (reason := row["timeouts_error"] or row["error"])})
    return "; ".join(reasons) or "they are not among controller_bootstrap_servers"


def _short(name: str) -> str:
    """Return `fetch_timeout` for `controller.quorum.fetch.timeout.ms`."""
    return f"{name.split('.')[2]}_timeout"


def join_ids(nodes: Iterable[int]) -> str:
    """Return ids of nodes as "1, 2, 3", sorted."""
    return ", ".join(map(str, sorted(nodes)))
