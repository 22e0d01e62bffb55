"""`python -m witness BOOTSTRAP_SERVERS`: what confluent-kafka sees of all topics, as JSON. With `--throttles` instead: the throttles that are set.
With `--moves` instead: the partitions whose reassignment is in progress, as Kafka's own script lists them.

Options of librdkafka, such as those of a login, are a JSON object on stdin. Those without a value are left out.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from confluent_kafka.admin import AdminClient

from rig import TopicPartition, jars
from rig.clients import read
from rig.listeners import Plaintext
from witness import librdkafka, scripts
from witness.view import PartitionView


def main() -> None:
    cli = argparse.ArgumentParser(prog="python -m witness", description=__doc__)
    cli.add_argument("bootstrap_servers")
    cli.add_argument("--throttles", action="store_true", help="print (resource, config, value) of each throttle")
    cli.add_argument("--moves", action="store_true", help="print (topic, partition) of each reassignment in progress, without a login")
    cli.add_argument(
        "--values", metavar="TOPIC", action="append", default=[], help="with the records of this topic, which must have leaders"
    )
    arguments = cli.parse_args()
    options = {name: value for name, value in json.load(sys.stdin).items() if value}
    json.dump(answer(arguments, options), sys.stdout)


def answer(arguments: argparse.Namespace, options: Mapping[str, str]) -> list[Any]:
    """What the command line asks for. `options`: of librdkafka."""
    if arguments.moves:
        return scripts.moves(jars.libs(), arguments.bootstrap_servers)
    client = librdkafka.connect(arguments.bootstrap_servers, options)
    return librdkafka.throttles(client) if arguments.throttles else partitions(client, arguments.bootstrap_servers, arguments.values)


def partitions(client: AdminClient, bootstrap_servers: str, topics: list[str]) -> list[dict[str, Any]]:
    """State of all partitions, and the values that a consumer reads from those of these topics."""
    views = librdkafka.views(client, *librdkafka.topic_names(client))
    values = read(bootstrap_servers, Plaintext(), [key for key in views if key[0] in topics])
    return [_row(key, view, values.get(key)) for key, view in sorted(views.items(), key=lambda item: item[0])]


def _row(key: TopicPartition, view: PartitionView, records: list[tuple[int, str]] | None) -> dict[str, Any]:
    topic, partition = key
    row: dict[str, Any] = {
        "topic": topic,
        "topic_id": view.topic_id,
        "partition": partition,
        "leader": view.leader,
        "replicas": view.replicas,
        "isr": sorted(view.isr),
    }
    return row if records is None else row | {"values": [value for _offset, value in records]}


if __name__ == "__main__":
    main()
