"""`python -m wire`, in tests/: record answers on a real cluster, try mutations (`--mutations`), or play one again that a test has named (`--seed`)."""

import argparse
import fcntl
import json
import socket
import struct
import sys
import tempfile
from typing import Any

from integration.support import run_module

from rig.gateway_frames import Request
from wire.answers import RECORDED, Exchange, save
from wire.course import STEPS
from wire.fuzz import fuzzing
from wire.stage import stage

SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40  # linux/sockios.h, linux/if.h


def own_loopback() -> None:
    """Bring up the loopback interface of a new network namespace (netdevice(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING))


def tried(count: int, base: str) -> dict[str, Any]:
    """`findings`, the number of mutations `tried`, kinds of requests that were `missed`, and the `megabytes` that a module took at most."""
    with fuzzing() as fuzz:
        findings = fuzz.prepare()
        findings += map(str, fuzz.mutations(count, base))
        missed = [f"API key {key} v{version}" for key, version in fuzz.kinds.keys() - fuzz.tried.keys()]
        return {"findings": findings, "tried": sum(fuzz.tried.values()), "missed": missed, "megabytes": fuzz.megabytes}


def main() -> int:
    """Run every step on a real cluster, and write down what its nodes answer."""
    cli = argparse.ArgumentParser(prog="python -m wire", description=__doc__)
    cli.add_argument("--seed", help="of a finding: play it again, and record nothing")
    cli.add_argument("--mutations", type=int, help="try so many mutations, and print what came of them as JSON")
    cli.add_argument("--base", default="", help="what the seeds of these mutations begin with")
    cli.add_argument(
        "--own-network", action="store_true", help="this process has a network of its own (unshare), whose loopback is still down"
    )
    options = cli.parse_args()
    if options.mutations:
        if options.own_network:
            own_loopback()
        print(json.dumps(tried(options.mutations, options.base)))
        return 0
    if options.seed:
        with fuzzing() as fuzz:
            if problems := fuzz.prepare():
                print("the undisturbed course fails:", *problems, sep="\n")
                return 1
            finding = fuzz.one(options.seed)
        print(finding or "nothing is wrong with it")
        return 1 if finding else 0
    recorded: dict[str, list[Exchange]] = {}
    with stage() as staged, tempfile.TemporaryDirectory() as workdir:
        for step in STEPS:
            exchanges: list[Exchange] = recorded.setdefault(step.name, [])

            def keep(node: int, request: Request, answer: bytes, exchanges: list[Exchange] = exchanges) -> bytes:
                exchanges.append(Exchange.of(node, request, answer))
                return answer

            with staged.changing(keep):
                done = run_module(step.module, step.options(staged.brokers, staged.controllers, workdir, 10.0), step.check)
            print(f"{step.name}: {len(exchanges)} answers", done.msg, done.stderr, flush=True)
            if done.returncode:
                return 1
        save(recorded, staged.cluster.gateways.ports)
    print(f"{sum(map(len, recorded.values()))} answers in {RECORDED} ({RECORDED.stat().st_size >> 10} kB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
