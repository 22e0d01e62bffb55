"""The rules of a gateway: which messages it offers, its limits, and what goes wrong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from rig.gateway_frames import Request

TopicPartition = tuple[str, int]
Change = Callable[[int, Request, bytes], bytes]
LOG_INFO, ELECTION = "GetReplicaLogInfo", "ElectLeaders"
LOG_INFO_KEY = 95  # under which gateways offer GetReplicaLogInfo: the key after those of Kafka 4.4


class Fault(Enum):
    """What is wrong with the answers to one of the messages. Elections have taken place all the same."""

    CUT = "half of the answer, then the connection is closed"
    CORRELATION = "the correlation id of another request"
    SLOW = "the answer comes `delay` seconds late"
    GARBAGE = "bytes that are no message"
    OTHER = "the body of another message"
    MISSING = "one partition is left out, and there is no more data"
    DUPLICATE = "one partition twice"
    STRANGER = "one more partition, which was not requested"


@dataclass(frozen=True)
class Rules:
    """What one gateway does.

    log_info          offers GetReplicaLogInfo, under `api_key`
    elections         offers ElectLeaders v3
    log_info_limit    partitions in one answer to GetReplicaLogInfo (then HasMoreData); election_limit of one ElectLeaders (then REQUEST_LIMIT_REACHED)
    throttle_time_ms  in answers to GetReplicaLogInfo
    limited           partitions for which REQUEST_LIMIT_REACHED is answered, once by each broker and message
    errors            error codes by partition, in answers to GetReplicaLogInfo
    broker_epoch      in place of the broker's own
    probes            lets Fetch read a replica without leader; otherwise TOPIC_AUTHORIZATION_FAILED
    fault             of the answers to the message `fault_in`; `delay` in seconds
    change            makes another answer, with its length, of each answer as it goes over the wire: given the broker's id, the request and the answer
    """

    log_info: bool = True
    elections: bool = True
    api_key: int = LOG_INFO_KEY
    log_info_limit: int = 1000
    election_limit: int = 1000
    throttle_time_ms: int = 0
    limited: frozenset[TopicPartition] = frozenset()
    errors: Mapping[TopicPartition, int] = field(default_factory=dict)
    broker_epoch: int | None = None
    probes: bool = True
    fault: Fault | None = None
    fault_in: str = LOG_INFO
    delay: float = 0.0
    change: Change | None = None


@dataclass(frozen=True)
class Served:
    """A native request that a gateway has answered itself: `partitions` as they were asked, `answered` of them with something else than a limit.

    `throttled`: it came before the throttle time of the answer before it was over.
    """

    broker_id: int
    message: str
    client_id: str | None
    partitions: tuple[TopicPartition, ...]
    answered: int
    throttled: bool = False
