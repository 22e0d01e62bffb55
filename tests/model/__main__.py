"""`python -m model`: search, count what every rule does, and print the tables of docs/model.md."""

import argparse
import multiprocessing
import time
from collections.abc import Sequence

from model.figures import VARIANTS, main_table, variants_table
from model.partition import Bounds
from model.search import Findings, search


def main() -> None:
    """Search in as many processes as there are processors, and print."""
    cli = argparse.ArgumentParser(prog="python -m model", description=__doc__)
    cli.add_argument("--variants", action="store_true", help="also search what can happen besides (minutes)")
    began = time.monotonic()
    if cli.parse_args().variants:
        titles, bounds = list(VARIANTS), list(VARIANTS.values())
        print(variants_table(dict(zip(titles, side_by_side(bounds), strict=True))))
    else:
        print(main_table(*side_by_side([Bounds(min_isr=1), Bounds(min_isr=2)])))
    print(f"\n{time.monotonic() - began:.0f} seconds")


def side_by_side(bounds: Sequence[Bounds]) -> list[Findings]:
    """Search within each of the bounds."""
    with multiprocessing.get_context("spawn").Pool() as pool:
        return pool.map(search, bounds, chunksize=1)


if __name__ == "__main__":
    main()
