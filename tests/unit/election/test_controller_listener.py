# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elections that the active controller is asked for itself, with made-up answers. That real controllers take them is tested with real ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.admin import ElectLeadersResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import change_client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import TOO_LATE
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, UnsupportedRequestError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import controller_listener, preferred_and_unclean_elections
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.controller_listener import DirectElection, ElectingCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.preferred_and_unclean_outcomes import PREFERRED, UNCLEAN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

KEYS = [("t", 0), ("t", 1), ("t", 2)]
NOT_NEEDED, TIMED_OUT = 84, 7
Codes = dict[TopicPartition, int]


def answer(codes: Codes, refused: int = 0) -> Any:
    kind = ElectLeadersResponse.ReplicaElectionResult
    rows = [kind.PartitionResult(partition_id=number, error_code=code, error_message="said") for (_topic, number), code in codes.items()]
    return ElectLeadersResponse(error_code=refused, replica_election_results=[kind(topic="t", partition_result=rows)])


class MadeUp(ElectingCluster):
    """`brokers`: what they answer to an election, or the error of asking them. `got`: the brokers that got it and do not answer."""

    got: frozenset[int] = frozenset()

    def __init__(self, brokers: Any, controllers: tuple[str, ...] = ("127.0.0.1:2",)) -> None:
        super().__init__(Connection(("127.0.0.1:1",), controllers))
        self.brokers = brokers

    def _send_write(self, make: Callable[[], Any], not_answered: Any = None, once: bool = False, written_by: float | None = None) -> Any:
        if self.got:
            not_answered({*self.got})
        if isinstance(self.brokers, Exception):
            raise self.brokers
        return self.brokers


@pytest.fixture
def active(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The active controller. `answers`: what it answers one after the other, or errors; `asked`: how many elections it was asked for.

    `is_ready`: whether requests are written to its connection.
    """
    controller = SimpleNamespace(answers=[], asked=0, is_ready=True)

    class Controllers:
        def __init__(self, connection: Connection) -> None:
            assert connection.controller_bootstrap_servers

        def __enter__(self) -> Controllers:
            return self

        def __exit__(self, *_error: object) -> None:
            pass

        def active(self) -> tuple[str, None]:
            return "controller", None

        def ask_until(self, node: str, make: Callable[[], Any], written_by: float) -> Any:
            assert time.monotonic() < written_by
            controller.asked += 1
            request = make()
            if controller.is_ready:
                request.API_VERSION = 2
            found = controller.answers.pop(0)
            if isinstance(found, Exception):
                raise found
            return found

    monkeypatch.setattr(controller_listener, "Controllers", Controllers)
    monkeypatch.setattr(preferred_and_unclean_elections, "RETRY_SECONDS", 0.0)
    return controller


@pytest.fixture
def opened() -> Iterator[Callable[..., MadeUp]]:
    made: list[MadeUp] = []

    def make(brokers: Any, controllers: tuple[str, ...] = ("127.0.0.1:2",), silence: str | None = None) -> MadeUp:
        made.append(MadeUp(brokers, controllers))
        made[-1]._net.start()
        made[-1].silence = silence
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_what_a_broker_passes_on_is_not_asked_of_the_controller(active: SimpleNamespace, opened: Callable[..., MadeUp]) -> None:
    cluster = opened(answer({KEYS[0]: 0, KEYS[1]: TIMED_OUT}))
    assert cluster.elect(PREFERRED, KEYS[:2]) == {KEYS[0]: None, KEYS[1]: Refusal("REQUEST_TIMED_OUT", "said")}
    assert active.asked == 0


@pytest.mark.parametrize("brokers", [ClusterError("no broker answered"), answer({}, refused=TIMED_OUT), answer({}, refused=41)])
def test_what_no_broker_passes_on_is_asked_of_the_active_controller(
    active: SimpleNamespace, opened: Callable[..., MadeUp], brokers: Any
) -> None:
    active.answers = [answer({KEYS[0]: 0})]
    assert opened(brokers).elect(PREFERRED, KEYS[:1]) == {KEYS[0]: None}
    with pytest.raises(UnsupportedRequestError):
        opened(UnsupportedRequestError("too old")).elect(PREFERRED, KEYS[:1])
    assert active.asked == 1


@pytest.mark.parametrize("brokers", [ClusterError("no broker answered"), answer({}, refused=41)])
def test_an_unclean_election_that_no_broker_has_got_is_asked_of_the_active_controller(
    active: SimpleNamespace, opened: Callable[..., MadeUp], brokers: Any
) -> None:
    active.answers = [answer({KEYS[0]: 0})]
    assert opened(brokers).elect(UNCLEAN, KEYS[:1]) == {KEYS[0]: None}


def test_an_unclean_election_that_a_broker_has_got_is_not_asked_of_the_controller(
    active: SimpleNamespace, opened: Callable[..., MadeUp]
) -> None:
    """It may still be carried out, and what was checked before it may not hold any more."""
    silent = opened(ClusterError("no broker answered"))
    silent.got = frozenset({1})
    with pytest.raises(ClusterError, match="no broker answered"):
        silent.elect(UNCLEAN, KEYS[:1])
    timed_out = opened(answer({KEYS[0]: TIMED_OUT, KEYS[1]: 41})).elect(UNCLEAN, KEYS[:2])
    assert timed_out == {KEYS[0]: Refusal("REQUEST_TIMED_OUT", "said"), KEYS[1]: Refusal("NOT_CONTROLLER", "said")}
    assert active.asked == 0


@pytest.mark.parametrize("controller", [ClusterError("it hangs"), answer({KEYS[0]: TIMED_OUT})])
def test_an_election_that_the_controller_never_answered_is_in_doubt(
    active: SimpleNamespace, opened: Callable[..., MadeUp], controller: Any
) -> None:
    active.answers = [controller]
    cluster = opened(ClusterError("no broker answered"))
    for _attempt in range(2):
        with suppress(ClusterError):
            cluster.elect(UNCLEAN, KEYS[:1])
        assert (cluster.elections_in_doubt, active.asked) == ({KEYS[0]}, 1)


def test_an_election_that_was_not_sent_to_the_controller_is_not_in_doubt_and_is_asked_of_it_again(
    active: SimpleNamespace, opened: Callable[..., MadeUp]
) -> None:
    active.answers, active.is_ready = [ClusterError(TOO_LATE), answer({KEYS[0]: 0})], False
    cluster = opened(ClusterError("no broker answered"))
    with pytest.raises(ClusterError, match=TOO_LATE):
        cluster.elect(UNCLEAN, KEYS[:1])
    assert cluster.elections_in_doubt == set()
    active.is_ready = True
    assert cluster.elect(UNCLEAN, KEYS[:1]) == {KEYS[0]: None}


def test_without_an_active_controller_the_brokers_answer_stands(active: SimpleNamespace, opened: Callable[..., MadeUp]) -> None:
    active.answers = [ClusterError("none of them is active"), ClusterError("none of them is active")]
    timed_out = opened(answer({}, refused=TIMED_OUT)).elect(PREFERRED, KEYS[:1])
    assert timed_out == {KEYS[0]: Refusal("REQUEST_TIMED_OUT", None)}
    with pytest.raises(ClusterError, match="no broker answered; none of them is active"):
        opened(ClusterError("no broker answered")).elect(PREFERRED, KEYS[:1])


def test_without_controllers_there_is_nothing_else_to_ask(active: SimpleNamespace, opened: Callable[..., MadeUp]) -> None:
    with pytest.raises(ClusterError, match="no broker answered"):
        opened(ClusterError("no broker answered"), controllers=()).elect(PREFERRED, KEYS[:1])
    assert active.asked == 0


def test_a_cluster_without_brokers_opens_only_with_controllers() -> None:
    with pytest.raises(ClusterError), ElectingCluster(Connection(("127.0.0.1:1",), request_timeout=1.0)):
        pass
    with ElectingCluster(Connection(("127.0.0.1:1",), ("127.0.0.1:2",), request_timeout=1.0)) as cluster:
        assert "127.0.0.1:1" in (cluster.silence or "")


def test_without_brokers_the_controllers_verdict_is_the_result(active: SimpleNamespace, opened: Callable[..., MadeUp]) -> None:
    active.answers = [answer({KEYS[0]: 0, KEYS[1]: NOT_NEEDED, KEYS[2]: 41}), answer({KEYS[2]: 3})]
    election = DirectElection(opened(None, silence="no answer"), PREFERRED, KEYS)
    election.elect(5.0, 3)
    assert [(row.outcome, row.leader, row.error, row.error_message) for row in election.results.values()] == [
        ("elected", None, None, None),
        ("already_online", None, "ELECTION_NOT_NEEDED", None),
        ("failed", None, "UNKNOWN_TOPIC_OR_PARTITION", "said"),
    ]
    report = election.report(20)
    assert report["changed"] and report["failed"] and report["diff"] == {"before": "", "after": ""}
    assert active.asked == 2


def test_a_controller_that_does_not_answer_is_asked_again_and_then_reported(active: SimpleNamespace, opened: Callable[..., MadeUp]) -> None:
    active.answers = [ClusterError("it hangs")] * 2
    election = DirectElection(opened(None, silence="no answer"), PREFERRED, KEYS)
    election.elect(5.0, 1)
    assert {(row.outcome, row.message) for row in election.results.values()} == {("failed", "it hangs")}
    assert active.asked == 2


def test_what_needs_to_look_at_the_cluster_is_refused_or_held(active: SimpleNamespace, opened: Callable[..., MadeUp]) -> None:
    cluster = opened(None, silence="no broker at b:9092")
    for election_type, keys, said in ((UNCLEAN, KEYS, "no unclean election"), (PREFERRED, None, "which partitions there are")):
        with pytest.raises(ClusterError, match=f"^no broker at b:9092; .*{said}"):
            DirectElection(cluster, election_type, keys)
    election = DirectElection(cluster, PREFERRED, KEYS)
    election.predict()
    assert {row.outcome for row in election.results.values()} == {"held"}
    assert active.asked == 0


@pytest.mark.parametrize(("election_type", "asked"), [(UNCLEAN, 0), (PREFERRED, 1)])
@pytest.mark.parametrize("slow", ["brokers", "controllers"])
def test_an_unclean_election_is_not_asked_of_the_controller_when_its_guards_are_old(
    active: SimpleNamespace, opened: Callable[..., MadeUp], monkeypatch: pytest.MonkeyPatch, slow: str, election_type: str, asked: int
) -> None:
    """Brokers that accept connections and answer nothing, or another controller that hangs, each take request_timeout. A preferred election has no guards."""
    monkeypatch.setattr(change_client, "ONCE_SECONDS", 0.1)
    cluster = opened(ClusterError("no broker answered"))
    owner, method = (cluster, "_send_write") if slow == "brokers" else (controller_listener.Controllers, "active")
    at_once = getattr(owner, method)

    def late(*arguments: Any, **keywords: Any) -> Any:
        time.sleep(0.3)
        return at_once(*arguments, **keywords)

    monkeypatch.setattr(owner, method, late)
    active.answers = [answer({KEYS[0]: 0})]
    with suppress(ClusterError):
        cluster.elect(election_type, KEYS[:1])
    assert active.asked == asked
