# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/versions.md: what stands between its markers is written from what a run saw."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from integration.support import CHECKOUT
from matrix.cells import EXPECTED, OLDER, RELEASES, ROLES, SUPPORTED, Cell
from matrix.course import Course
from matrix.offers import ELR, METADATA_VERSION, Offers, Versions

PATH = Path("docs", "versions.md")
# A run writes the tables of its releases between the markers that name its command.
COMMANDS: Mapping[tuple[str, ...], str] = {SUPPORTED: "make test-matrix", OLDER: "make test-matrix-older"}
TITLES: Mapping[tuple[str, ...], tuple[str, str, str]] = {
    SUPPORTED: ("## What each release offers", "## What a partition without leader looks like", "## How the scenarios end"),
    OLDER: ("### What older releases offer", "### What a partition without leader looks like there", "### How the scenarios end there"),
}
ELSE = "everything else"  # what is not about one scenario
Courses = Mapping[Cell, Course]


def write(courses: Courses, failed: Collection[tuple[Cell, str]], seconds: float) -> None:
    """Replace what stands between the markers."""
    file = CHECKOUT / PATH
    begin, end = (f"<!-- written by {COMMANDS[RELEASES]}: {part} -->" for part in ("begin", "end"))
    before, _, rest = file.read_text().partition(begin)
    file.write_text(before + begin + "\n" + render(courses, failed, seconds) + end + rest.partition(end)[2])


def render(courses: Courses, failed: Collection[tuple[Cell, str]], seconds: float) -> str:
    """The text between the markers."""
    offered, offline, ends = TITLES[RELEASES]
    versions = ", ".join(f"{release} as {Cell(release, False).version}" for release in RELEASES)
    reported = [
        f"Seen on {datetime.date.today()} with {versions}, on {os.cpu_count()} cores: {len(courses)} clusters, one after the other, "
        f"{seconds / 60:.0f} minutes in all.",
        offered,
        _table(["", *RELEASES], _offers(courses)),
        "A range is the lowest and highest version of a message, as the nodes themselves say (ApiVersions); `no` is not offered.",
        offline,
        "Broker 1 led last and is lost, broker 4 is on its way back; what `kafka_partition_info` returned.",
        _table(
            ["Kafka", "ELR", "ISR", "eligible leader replicas", "last known ELR", "brokers"],
            [_offline(course) for course in courses.values()],
        ),
        ends,
        "Outcomes under `balanced`, and how many of the acknowledged records could be read afterwards. `preferred` is `kafka_leader_election` on the topic "
        "`lagging` when the lost broker was back.",
        _table(["Kafka", "ELR", *EXPECTED, "preferred", ELSE, "seconds"], [_ends(course, failed) for course in courses.values()]),
    ]
    return "\n" + "\n\n".join(reported) + "\n\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def _range(versions: Versions) -> str:
    if versions is None:
        return "no"
    low, high = versions
    return str(low) if low == high else f"{low}-{high}"


def _offers(courses: Courses) -> Iterable[list[str]]:
    """Rows of the first table. What is offered does not hang on whether ELR is on; what else differs shows both, off / on."""
    columns = [[course for cell, course in courses.items() if cell.release == release] for release in RELEASES]

    def row(title: str, tell: Callable[[Course], str]) -> list[str]:
        return [title, *(" / ".join(dict.fromkeys(tell(course) for course in column)) for column in columns)]

    first = columns[0][0].offers
    for name in first.to_brokers:
        yield row(name, lambda course, name=name: _range(course.offers.to_brokers[name]))  # type: ignore[misc]
    for name in first.to_controllers:
        yield row(f"{name}, controllers", lambda course, name=name: _range(course.offers.to_controllers[name]))  # type: ignore[misc]
    yield row("GetReplicaLogInfo (KIP-1275; API key 93)", lambda course: _log_info(course.offers))
    yield row("pre-vote (KIP-996)", lambda course: "yes" if course.quorum["pre_vote_supported"] else "no")
    yield row(f"`{METADATA_VERSION}`", lambda course: f"{course.offers.metadata_version} ({course.offers.finalized[METADATA_VERSION]})")
    yield row(f"`{ELR}`: levels", lambda course: _range(course.offers.supported.get(ELR)))
    yield row("… by default", lambda course: "no" if course.offers.elr_by_default is None else str(course.offers.elr_by_default))
    yield row("… as finalized, ELR off / on", lambda course: str(course.offers.finalized.get(ELR, "no")))
    yield row("fenced brokers are listed", lambda course: _fenced(course.offers.described))


def _log_info(offers: Offers) -> str:
    """The key alone says nothing: 4.4 gives it to another message."""
    if offers.key_93 is None:
        return "no"
    _, newest = offers.to_brokers["ElectLeaders"] or (0, 0)
    return _range(offers.key_93) if newest >= 3 else "no (the key is another message's)"


def _fenced(described: Mapping[int, tuple[str, bool | None]]) -> str:
    addresses = [address for address, fenced in described.values() if fenced]
    return ("with addresses" if all(addresses) else "without addresses") if addresses else "no"


def _offline(course: Course) -> list[str]:
    states = "; ".join(f"{row['broker_id']} {row['broker_state']}" for row in course.partitions["brokers"])
    lost = [row for row in course.partitions["partitions"] if row["topic"] == "lagging"]
    fields = ("isr", "eligible_leader_replicas", "last_known_elr")
    return [*_place(course), *(" or ".join(dict.fromkeys(str(row[field]) for row in lost)) for field in fields), states]


def _place(course: Course) -> list[str]:
    return [course.cell.version, "on" if course.cell.elr else "off"]


def _ends(course: Course, failed: Collection[tuple[Cell, str]]) -> list[str]:
    def reported(name: str, figures: str) -> str:
        return f"{'FAILED' if (course.cell, name) in failed else 'pass'}{figures and ': '}{figures}"

    return [
        *_place(course),
        *(reported(scenario, _figures(course, scenario)) for scenario in EXPECTED),
        _preferred(course),
        reported(ELSE, ""),
        f"{course.seconds:.0f}",
    ]


def _preferred(course: Course) -> str:
    """What the first preferred election made of its partitions; Kafka's names of errors in the second."""
    once, twice = (
        {name: count for name, count in found.items() if count} for found in (course.preferred[0]["summary"], course.preferred[1]["errors"])
    )
    return "; again: ".join(", ".join(f"{count} {name}" for name, count in found.items()) for found in (once, twice))


def _figures(course: Course, scenario: str) -> str:
    """Outcomes with leaders, and how many acknowledged records can be read in the end."""
    rows = [course.first.results[key] for key in course.of(scenario)]
    counts = Counter((row["outcome"], _whom(row)) for row in rows)
    outcomes = ", ".join(f"{count} {outcome} ({whom})" for (outcome, whom), count in sorted(counts.items()))
    kept = course.kept[scenario]
    return f"{outcomes}; {kept.kept} of {kept.acknowledged}{_later(course, scenario)}"


def _whom(row: Mapping[str, Any]) -> str:
    """Who leads, and what the election stood on; or why it was held."""
    if row["outcome"] == "held":
        return str(row["reason_code"])
    return f"broker {row['leader']}" + (f", {row['evidence']}" if row["outcome"] == "elected" else "")


def _later(course: Course, scenario: str) -> str:
    """What happened to partitions that were held at first."""
    leaders = {state.leader for (topic, _), state in course.aggressive.after.items() if topic == scenario}
    if leaders:
        return f" with broker {', '.join(map(str, sorted(leaders)))} (`aggressive`)"
    returned = {state.leader for (topic, _), state in course.returned.items() if topic == scenario}
    return f" when broker {ROLES.returning} is back" if returned == {ROLES.returning} else ""
