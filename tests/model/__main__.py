"""`python -m model`: search, count what every rule does, and print the tables of docs/model.md."""

import argparse
import multiprocessing
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from model.coverage import ALL_COMPACTED, PLAIN, compacted_table, coverage_table, measured, waiting_table
from model.figures import VARIANTS, main_table, variants_table
from model.partition import Bounds
from model.search import search
from model.waiting import waits_in_vain

T = TypeVar("T")


def main() -> None:
    """Search in as many processes as there are processors, and print."""
    cli = argparse.ArgumentParser(prog="python -m model", description=__doc__)
    cli.add_argument("--variants", action="store_true", help="search what can happen besides (minutes)")
    cli.add_argument(
        "--coverage", action="store_true", help="call decide() on every state without a leader, also of compacted topics (minutes)"
    )
    began = time.monotonic()
    given = cli.parse_args()
    if given.variants:
        print(variants_table(dict(zip(VARIANTS, side_by_side(search, [*VARIANTS.values()]), strict=True))))
    elif given.coverage:
        for searches, table in ((PLAIN, coverage_table), (ALL_COMPACTED, compacted_table)):
            print(table(dict(zip(searches, side_by_side(measured, [*searches.values()]), strict=True))) + "\n")
        print(waiting_table(*map(waits_in_vain, (False, True))))
    else:
        print(main_table(*side_by_side(search, [Bounds(min_isr=1), Bounds(min_isr=2)])))
    print(f"\n{time.monotonic() - began:.0f} seconds")


def side_by_side(work: Callable[[Bounds], T], bounds: Sequence[Bounds]) -> list[T]:
    """Do some work, such as a search, within each of the bounds."""
    with multiprocessing.get_context("spawn").Pool() as pool:
        return pool.map(work, bounds, chunksize=1)


if __name__ == "__main__":
    main()
