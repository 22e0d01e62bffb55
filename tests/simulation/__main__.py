# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays simulated histories: python -m simulation 1 100 plays the seeds from 1 to 100."""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections import Counter

from simulation.history import play
from simulation.script import drawn


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, nargs="?")
    parser.add_argument("--story", action="store_true", help="print what happened")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    counts: Counter[str] = Counter()
    bad = 0
    begun, used = time.perf_counter(), time.process_time()
    for seed in range(options.first, (options.last or options.first) + 1):
        try:
            outcome = play(drawn(seed))
        except Exception:  # noqa: BLE001 - the next seed is another history
            bad += 1
            print(f"seed {seed}:", traceback.format_exc(limit=-6), flush=True)
            continue
        counts += outcome.counts
        counts["histories"] += 1
        if outcome.violations:
            bad += 1
            print(f"seed {seed}: {outcome.violations}", flush=True)
        if options.story:
            print("\n".join(outcome.story))
    for kind, number in sorted(counts.items()):
        print(f"{number:8} {kind}")
    print(f"{time.perf_counter() - begun:.1f} s, {time.process_time() - used:.1f} s of processor, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
