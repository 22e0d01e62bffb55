# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drawings of docs/. What they show of logs is given as situations of a partition, so that a test can ask the rules of decision about them.

`python -m docsite.drawings` writes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from docsite.places import ROOT
from docsite.sheet import CELL, LABEL, Sheet

FOLDER = ROOT / "docs/drawings"
Epochs = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A partition without a leader: the epochs of the records in each survivor's log, and what the drawing says about it."""

    survivors: dict[int, Epochs]
    lost: int
    winner: int
    evidence: str
    truncated: dict[int, int]  # survivor that loses records → offset from which
    high_watermark: int = 0
    snapshot_mark: int | None = None
    lower_bound: int | None = None


PREFIX = Case({2: (0, 0, 0, 0, 1, 1, 1, 1), 3: (0, 0, 0, 0, 1, 1)}, lost=1, winner=2, evidence="prefix", truncated={})
FORKED = Case({2: (0, 0, 0, 0, 1, 1, 1), 3: (0, 0, 0, 0, 0, 0, 0, 0, 0)}, lost=1, winner=2, evidence="forked", truncated={3: 4})
LOSS = Case({2: (0, 0, 0, 0, 0, 0)}, lost=1, winner=2, evidence="prefix", truncated={}, high_watermark=5, snapshot_mark=8, lower_bound=2)
CASES = {"prefix": PREFIX, "forked": FORKED, "loss": LOSS}


def watermark() -> Sheet:
    """What is committed."""
    sheet = Sheet(
        "The high watermark",
        "A leader with eight records and two followers in sync with six each. The high watermark is 6: the records 0 to 5 are committed, 6 and 7 are not yet.",
        LABEL + CELL * 8 + 150,
        242,
    )
    sheet.offsets(34, 8)
    for row, (name, count) in enumerate((("leader 1", 8), ("broker 2", 6), ("broker 3", 6))):
        sheet.log(46 + 44 * row, name, (0,) * count, ("same",) * min(count, 6) + ("other",) * (count - 6))
    sheet.cut(6, 22, 180)
    sheet.text(LABEL + CELL * 6 + 8, 176, "high watermark 6", "mark strong")
    sheet.text(LABEL + CELL * 8 + 12, 68, "log end offset 8", "soft")
    sheet.text(LABEL, 206, "0 to 5 committed: every log of the ISR has them,", "soft")
    sheet.text(LABEL, 224, "consumers may have read them. 6 and 7: not yet.", "soft")
    return sheet


def prefix() -> Sheet:
    """Evidence that elects."""
    sheet = Sheet(
        "Evidence: prefix",
        "Broker 1 is lost. Broker 3 holds six records, broker 2 the same six and two more. So electing 2 destroys nothing that a survivor holds.",
        LABEL + CELL * 10 + 70,
        224,
    )
    sheet.offsets(34, 10)
    sheet.log(46, "broker 1", (-1,) * 10, ("gone",) * 10)
    sheet.log(90, "broker 2", PREFIX.survivors[2], ("same",) * 6 + ("good",) * 2)
    sheet.log(134, "broker 3", PREFIX.survivors[3], ("same",) * 6)
    sheet.box(LABEL - 3, 87, CELL * 8 + 6, CELL + 4, "win", 6)
    sheet.text(LABEL + CELL * 8 + 12, 112, "elected", "best strong")
    sheet.text(LABEL, 190, "2 holds everything that 3 holds: no truncation.", "soft")
    sheet.text(LABEL, 208, "What only 1 had is unknown.", "soft")
    return sheet


def forked() -> Sheet:
    """Evidence that holds."""
    sheet = Sheet(
        "Evidence: forked",
        "Broker 1 is lost. The logs of 2 and 3 part at offset 4. Broker 3 has the longer log, written alone in epoch 0; broker 2 has records of epoch 1 "
        "that were acknowledged. Whichever is elected, the other truncates its branch.",
        LABEL + CELL * 10 + 70,
        268,
    )
    sheet.offsets(34, 10)
    sheet.log(46, "broker 1", (-1,) * 10, ("gone",) * 10)
    sheet.log(90, "broker 2", FORKED.survivors[2], ("same",) * 4 + ("good",) * 3)
    sheet.log(134, "broker 3", FORKED.survivors[3], ("same",) * 4 + ("bad",) * 5)
    sheet.cut(4, 22, 182)
    sheet.text(LABEL + CELL * 4 + 8, 186, "fork offset 4", "mark strong")
    sheet.text(LABEL, 216, "3 led epoch 0 and wrote on alone; 2 followed epoch 1.", "soft")
    sheet.text(LABEL, 234, "Elect 2: 3 truncates five. Elect 3: 2 truncates three.", "soft")
    sheet.text(LABEL, 252, "Here the shorter log has what was acknowledged.", "soft")
    return sheet


def loss() -> Sheet:
    """Between which bounds the loss lies."""
    sheet = Sheet(
        "Loss bounds",
        "The only survivor's log ends at offset 6. The last healthy snapshot had the high watermark 8, so two records are lost for certain, and perhaps more.",
        LABEL + CELL * 12 + 90,
        232,
    )
    sheet.offsets(34, 12)
    sheet.log(46, "lost 1", (-1,) * 12, ("gone",) * 12)
    sheet.log(90, "broker 2", LOSS.survivors[2], ("same",) * 6)
    sheet.cut(6, 86, 150, "win")
    sheet.text(LABEL + CELL * 6 - 6, 146, "log end 6", "best strong end")
    sheet.cut(8, 22, 150)
    sheet.text(LABEL + CELL * 8 + 8, 112, "high watermark was 8", "mark strong")
    sheet.path(f"M{LABEL + CELL * 6} 164H{LABEL + CELL * 8}", "cut")
    sheet.text(LABEL + CELL * 7, 184, "lost: 2", "mark strong middle")
    sheet.path(f"M{LABEL + CELL * 8} 164H{LABEL + CELL * 12}", "stroke dash")
    sheet.text(LABEL + CELL * 8 + 30, 184, "perhaps more", "soft")
    sheet.text(LABEL, 216, "lower bound 2 from healthy_snapshot, upper bound unknown", "soft")
    return sheet


def elr() -> Sheet:
    """Who leaves below min ISR stays eligible."""
    sheet = Sheet(
        "Eligible leader replicas",
        "min.insync.replicas is 2. Broker 3 leaves while two others stay: it is not eligible, since records are committed without it. "
        "Broker 2 leaves below min ISR: it goes to the ELR. The leader 1 dies, too: "
        "the ISR is empty, the ELR has 1 and 2, and whichever comes back first after a clean shutdown leads without loss.",
        600,
        268,
    )
    sheet.text(20, 32, "min.insync.replicas = 2", "soft")
    columns = (
        (20, "healthy", "ISR 1 2 3", "ELR none", "good"),
        (165, "3 leaves", "ISR 1 2", "ELR none", "good"),
        (310, "2 leaves", "ISR 1", "ELR 2", "other"),
        (455, "1 dies", "ISR none", "ELR 1 2", "bad"),
    )
    for x, name, isr, eligible, look in columns:
        sheet.said(x, 48, 125, 78, [name, isr, eligible], look)
        if x > 20:
            sheet.path(f"M{x - 18} 87H{x - 3}", arrow=True)
    sheet.text(20, 152, "Commits go on without 3:", "soft")
    sheet.text(20, 170, "it lacks committed records.", "soft")
    sheet.text(310, 152, "The high watermark stands still:", "soft")
    sheet.text(310, 170, "2 lacks nothing that is committed.", "soft")
    sheet.text(20, 206, "2 or 1 comes back after a clean shutdown: it leads, nothing is lost.", "best strong")
    sheet.text(20, 230, "Only 3 is alive: Kafka waits. Electing 3 is an unclean election,", "mark strong")
    sheet.text(20, 250, "and loses what was committed without it.", "mark strong")
    return sheet


def tree() -> Sheet:
    """The runbook."""
    sheet = Sheet(
        "Wait, mount, elect, force",
        "Four questions, from the cheapest answer to the dearest: is a broker coming back (wait), can a lost broker be started with its disk "
        "(mount), does the plan elect the partition (elect), is one branch or nothing worth giving up (force).",
        640,
        560,
    )
    rows = (
        ("Is a broker coming back?", "wait_for_clean_leader, coming_back", "A  WAIT", "nothing is lost", "good"),
        (
            "Can a lost broker start with its disk?",
            "above all one of the ISR or ELR",
            "B  MOUNT THE DISK",
            "nothing, if the disk is whole",
            "good",
        ),
        ("Is it in the plan's partitions?", "prefix, forked_resolved", "C  ELECT", "what only lost brokers held", "other"),
        ("Is it held, with a candidate?", "forked, incomplete, weak, ...", "D  FORCE", "records that are known", "bad"),
    )
    sheet.said(20, 18, 350, 46, ["Plan first: it only reads"])
    for number, (question, words, leaf, cost, look) in enumerate(rows):
        y = 100 + 106 * number
        sheet.path(f"M180 {y - 36 if number == 0 else y - 42}V{y - 3}", arrow=True)
        if number:
            sheet.text(190, y - 18, "no", "soft")
        sheet.said(20, y, 350, 64, [question, words])
        sheet.path(f"M370 {y + 32}H413", arrow=True)
        sheet.text(391, y + 24, "yes", "soft middle")
        sheet.said(416, y, 204, 64, [leaf, cost], look)
    sheet.path("M180 482V509", arrow=True)
    sheet.text(190, 502, "no (no_survivor)", "soft")
    sheet.said(20, 512, 600, 36, ["B again, or the records are gone: backup, or an empty topic"])
    return sheet


DRAWINGS: dict[str, Callable[[], Sheet]] = {drawing.__name__: drawing for drawing in (watermark, prefix, forked, loss, elr, tree)}


def main() -> None:
    """Writes them all."""
    FOLDER.mkdir(exist_ok=True)
    for name, drawing in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(drawing().svg())


if __name__ == "__main__":
    main()
