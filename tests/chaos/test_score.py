"""The figures at the end are those of the histories."""

from __future__ import annotations

import json
from collections import Counter

from chaos import score
from chaos.judge import Violation
from chaos.recovery import Recovered
from chaos.run import OURS, Cost, Outcome

ONLINE = [("t", number) for number in range(4)]
ALIVE = frozenset({2, 3})


def outcome(seed: int, *recoveries: Recovered, violations: tuple[Violation, ...] = ()) -> Outcome:
    cost = Cost(4, Counter(all=0), Counter(all=seed))
    return Outcome(seed, "walk", 8, 4, 100, list(recoveries), costs={OURS: cost}, violations=list(violations), seconds=1.0)


def recovered(fault: str, story: str, seconds: float, runs: int = 1) -> Recovered:
    done = Recovered(fault, story, ONLINE, {("t", 0): (2, ALIVE)}, {("t", 1): "forked"}, Counter(elected=1, stale=2), [], runs, 0, seconds)
    done.evidence[("t", 0)] = "prefix"
    return done


OUTCOMES = [
    outcome(1, recovered("connections cut", "brokers [1]", 4.0), recovered("connections cut", "brokers [2]", 9.0, runs=3)),
    outcome(2, recovered("connections cut", "", 1.0), violations=(Violation("the journal stays open", "t-0", "workdir"),)),
]


def test_faults_count_where_they_struck() -> None:
    figures = score.summary(OUTCOMES)
    cut, none = figures["faults"]["connections cut"], figures["faults"]["none"]
    assert (cut["recoveries"], cut["median_seconds"], cut["max_seconds"], cut["reruns"]) == (2, 6.5, 9.0, 2)
    assert none["recoveries"] == 1
    assert (figures["elected"], figures["held"], figures["reruns"]) == (3, {"forked": 3}, 2)
    assert figures["elected_on"] == {"prefix": 3}
    assert "1 elected (prefix 1), 1 held" in score.line(OUTCOMES[0])
    assert score.details(OUTCOMES[0])["recoveries"][0]["elected_on"] == {"prefix": 1}
    assert figures["costs"][OURS] == {"partitions": 8, "another_held": {}, "total": {"all": 3}}
    assert (figures["leaks"], figures["violations"]) == (1, 1)


def test_figures_are_json_and_violations_can_be_replayed() -> None:
    json.dumps({**score.summary(OUTCOMES), "runs": [score.details(outcome) for outcome in OUTCOMES]})
    (text,) = score.violations(OUTCOMES[1], "python -m chaos --seed 2 --runs 1")
    assert "t-0" in text
    assert text.endswith("--seed 2 --runs 1")
    assert score.line(OUTCOMES[0]).startswith("seed 1 (1 s) ok")
    assert "1 VIOLATIONS" in score.line(OUTCOMES[1])
