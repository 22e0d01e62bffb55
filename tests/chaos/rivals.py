"""Whom other rules would elect on the same damage, and what that costs.

Computed from the survivors' real logs, and checked against real elections of Kafka's tool.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from chaos.judge import Promises
from chaos.keys import missing
from chaos.logs import Log, end, values


def stock(replicas: Sequence[int], logs: Mapping[int, Log]) -> int:
    """Kafka's own unclean election: the first live replica of the assignment."""
    return next(broker for broker in replicas if broker in logs)


def leo_only(replicas: Sequence[int], logs: Mapping[int, Log]) -> int:
    """KIP-1275 as it works out: partition leader epochs are equal on all live replicas, so the longest log wins."""
    return max(sorted(logs, key=replicas.index), key=lambda broker: end(logs[broker]))


def epoch_and_leo(replicas: Sequence[int], logs: Mapping[int, Log]) -> int:
    """KIP-966's rule: the last-written epoch, then the log end offset."""
    return max(sorted(logs, key=replicas.index), key=lambda broker: (logs[broker][-1].epoch if logs[broker] else -1, end(logs[broker])))


RULES = {"stock": stock, "LEO only": leo_only, "(epoch, LEO)": epoch_and_leo}


def cost(elected: int, logs: Mapping[int, Log], promises: Promises, acks: Collection[str]) -> tuple[int, int]:
    """Acknowledged records that electing this one loses: those that another survivor holds, and all."""
    gone = missing({value for value, promise in promises.items() if promise.acks in acks}, values(logs[elected]))
    return len(gone & set().union(*map(values, logs.values()))), len(gone)
