"""What is really lost when a survivor leads, and the bounds that can be stated without knowing what was committed (docs/loss.md).

Any survivor is elected: the bounds hold for any winner, not only for the one that a rule would choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from model.logs import Log, common
from model.partition import NOTHING, OUT, Replica
from model.rules import still_complete


def lost(committed: Iterable[Log], winner: Log) -> int:
    """How many committed records the winner lacks. Of several branches that were committed one after the other, the one that suffers most counts."""
    return max(len(log) - common(log, winner) for log in committed)


def at_least(survivors: Iterable[Replica], winner: Log) -> int:
    """What survivors' high watermarks prove."""
    return max(max(0, one.high_watermark - common(one.log, winner)) for one in survivors)


def at_most(survivors: Sequence[Replica], winner: Log) -> int | None:
    """What the ISR's history allows, by the survivors since whose leaving the ISR was always too small to commit; None where it says nothing."""
    if any(one.since != NOTHING for one in survivors):
        return None
    return lacking(still_complete(survivors), winner)


def lacking(complete: Iterable[Replica], winner: Log) -> int | None:
    """What the winner lacks of that log, of those that hold every committed record, which goes on for the least."""
    return min((len(one.log) - common(one.log, winner) for one in complete), default=None)


def clean(replicas: Iterable[Replica]) -> list[Replica]:
    """The members of the ISR and of the ELR."""
    return [one for one in replicas if one.role != OUT or one.eligible]
