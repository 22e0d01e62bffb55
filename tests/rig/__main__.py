"""Command line of the rig: `python -m rig`."""

import argparse
import sys

from rig import jars
from rig.errors import RigError


def parser() -> argparse.ArgumentParser:
    cli = argparse.ArgumentParser(prog="rig", description="Local fleets of real Kafka clusters, and ways to damage them.")
    commands = cli.add_subparsers(required=True, metavar="COMMAND")
    get = commands.add_parser("jars", help="download Kafka's jars into the cache and print where they are")
    get.add_argument("--version", default=jars.default_version(), help="Kafka version (default: %(default)s)")
    get.add_argument("--with", dest="tool", choices=["maven", "ivy"], help="default: maven where mvn is installed, else ivy")
    get.set_defaults(run=lambda options: print(jars.libs(options.version, options.tool, say=lambda line: print(line, file=sys.stderr))))
    return cli


def main() -> int:
    options = parser().parse_args()
    try:
        options.run(options)
    except RigError as problem:
        print(f"rig: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
