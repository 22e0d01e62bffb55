"""`python -m witness BOOTSTRAP_SERVERS`: what confluent-kafka sees of all topics, as JSON.

Options of librdkafka, such as those of a login, are a JSON object on stdin. Those without a value are left out.
"""

import argparse
import json
import sys

from witness import librdkafka


def main() -> None:
    cli = argparse.ArgumentParser(prog="python -m witness", description=__doc__)
    cli.add_argument("bootstrap_servers")
    options = {name: value for name, value in json.load(sys.stdin).items() if value}
    client = librdkafka.connect(cli.parse_args().bootstrap_servers, options)
    views = librdkafka.views(client, *librdkafka.topic_names(client))
    rows = [
        {
            "topic": topic,
            "topic_id": view.topic_id,
            "partition": partition,
            "leader": view.leader,
            "replicas": view.replicas,
            "isr": sorted(view.isr),
        }
        for (topic, partition), view in sorted(views.items())
    ]
    json.dump(rows, sys.stdout)


if __name__ == "__main__":
    main()
