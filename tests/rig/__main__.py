"""Command line of the rig: `python -m rig`."""

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Column, Table

from rig import background, jars, patches
from rig.errors import RigError
from rig.scenarios import SCENARIOS

STATE_STYLES = {"unfenced": "green", "held": "yellow", "paused": "yellow", "fenced": "red", "down": "red"}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def show_jars(options: argparse.Namespace) -> None:
    print(jars.libs(patches.exact(options.version), options.tool, say))


def up(options: argparse.Namespace) -> None:
    settings: dict[str, Any] = {"brokers": options.brokers, "controllers": options.controllers, "heap": options.heap}
    settings |= {"version": patches.exact(options.version), "session_timeout": options.session_timeout}
    files = {
        name: str(path.resolve()) if path else None for name, path in (("inventory_file", options.inventory), ("secured", options.secured))
    }
    wanted = {"clusters": options.clusters, "owner_pid": options.owner_pid, **files, "settings": settings}
    state = background.start(options.name, wanted, say)
    if options.inventory:
        say(f"inventory: {options.inventory}")
    else:
        print("---\n" + yaml.safe_dump(state["inventory"], sort_keys=False), end="")


def status(options: argparse.Namespace) -> None:
    fleets = background.names()
    if not fleets:
        say("no fleet is up; start one with: python -m rig up")
    table = Table("fleet", "cluster", "Kafka", "broker", Column("address", no_wrap=True), "state", "offline partitions")
    for fleet in fleets:
        for row in background.call(fleet, say, do="status"):
            states = [f"[{STATE_STYLES[state]}]{state}[/]" for state in row["brokers"].values()]
            offline = [f"{topic}: {count} of {partitions}" for topic, (partitions, count) in row["topics"].items() if count]
            addresses = row["bootstrap_servers"].split(",")
            columns = [map(str, row["brokers"]), addresses, states, offline or ["none"]]
            table.add_row(fleet, row["name"], row["version"], *("\n".join(lines) for lines in columns), end_section=True)
    if fleets:
        Console().print(table)


def inflict(options: argparse.Namespace) -> None:
    request = {"clusters": options.cluster, "scenarios": options.scenarios, "partitions": options.partitions, "copies": options.copies}
    request |= {"suffix": options.suffix, "fresh": options.fresh}
    topics = background.call(options.name, say, do="break", **request)
    for cluster, names in topics.items():
        print(f"{cluster}: {' '.join(names)}")


def heal(options: argparse.Namespace) -> None:
    background.call(options.name, say, do="heal", clusters=options.cluster)


def kill(options: argparse.Namespace) -> None:
    background.call(options.name, say, do="kill", clusters=options.cluster)


def down(options: argparse.Namespace) -> None:
    background.stop(options.name)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def parser() -> argparse.ArgumentParser:
    cli = argparse.ArgumentParser(prog="python -m rig", description="Local fleets of real Kafka clusters, and ways to damage them.")
    commands = cli.add_subparsers(required=True, metavar="COMMAND")
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("--name", default="default", help="name of the fleet (default: %(default)s)")
    some = argparse.ArgumentParser(add_help=False)
    some.add_argument("--cluster", action="append", help="only this cluster of the fleet; may be given several times")
    of_version = argparse.ArgumentParser(add_help=False)
    of_version.add_argument(
        "--version", default=jars.default_version(), help="Kafka version, or a release like 4.2 for its newest patch (default: %(default)s)"
    )

    command = commands.add_parser("up", parents=[named, of_version], help="start a fleet; it stays until `down`")
    command.add_argument("--clusters", type=positive, default=1)
    command.add_argument("--brokers", type=positive, default=4, help="per cluster (default: %(default)s)")
    command.add_argument("--controllers", type=positive, default=1, help="per cluster (default: %(default)s)")
    command.add_argument("--heap", default="256m", help="of each JVM (default: %(default)s)")
    command.add_argument(
        "--session-timeout", type=float, default=3.0, help="seconds until a silent broker is fenced (default: %(default)s)"
    )
    command.add_argument("--inventory", type=Path, help="write the Ansible inventory to this file (default: print it)")
    command.add_argument(
        "--secured", type=Path, metavar="DIR", help="one listener more with TLS and SCRAM; certificates and an inventory for it go to DIR"
    )
    command.add_argument("--owner-pid", type=int, help="end the fleet when this process ends")
    command.set_defaults(run=up)

    command = commands.add_parser("status", help="show fleets, brokers and offline partitions")
    command.set_defaults(run=status)

    described = "\n".join(f"  {name:16} {(function.__doc__ or '').splitlines()[0]}" for name, function in SCENARIOS.items())
    command = commands.add_parser(
        "break",
        parents=[named, some],
        help="make partitions lose every in-sync replica",
        epilog=f"scenarios:\n{described}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("scenarios", nargs="+", choices=list(SCENARIOS), metavar="SCENARIO")
    command.add_argument("--partitions", type=positive, default=4, help="per scenario (default: %(default)s)")
    command.add_argument("--copies", type=positive, default=1, help="topics with the very same damage (default: %(default)s)")
    command.add_argument("--suffix", help="of the topics' names (default: a number, from the second time on)")
    command.add_argument("--fresh", action="store_true", help="delete all topics first, so that nothing is damaged twice")
    command.set_defaults(run=inflict)

    command = commands.add_parser(
        "kill", parents=[named, some], help="kill every broker, so that no broker can be reached; heal brings them back"
    )
    command.set_defaults(run=kill)
    command = commands.add_parser("heal", parents=[named, some], help="bring every broker back")
    command.set_defaults(run=heal)
    command = commands.add_parser("down", parents=[named], help="end a fleet")
    command.set_defaults(run=down)

    command = commands.add_parser("jars", parents=[of_version], help="download Kafka's jars into the cache and print where they are")
    command.add_argument("--with", dest="tool", choices=["maven", "ivy"], help="default: maven where mvn is installed, else ivy")
    command.set_defaults(run=show_jars)
    return cli


def main() -> int:
    options = parser().parse_args()
    try:
        options.run(options)
    except RigError as problem:
        say(f"rig: {problem}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
