"""What is lost in compacted topics, and what a power cut takes from a log."""

from __future__ import annotations

from pathlib import Path
from random import Random

from chaos.built_batches import batch
from chaos.disks import records
from chaos.keys import key_of, missing, missing_afterwards
from rig import page_cache


def test_a_record_is_lost_if_no_later_record_of_its_key_is_there() -> None:
    assert missing({"1/a/all#k", "2/a/all#other"}, {"3/b/all#k"}) == {"2/a/all#other"}
    assert missing({"3/b/all#k"}, {"1/a/all#k"}) == {"3/b/all#k"}
    assert missing({"1/a/all", "transaction 2/b"}, {"3/b/all", "4/c/all#k"}) == {"1/a/all", "transaction 2/b"}
    assert (key_of("1/a/all#k"), key_of("1/a/all")) == ("k", "1/a/all")


def test_a_record_may_be_gone_afterwards_if_another_replica_held_a_later_one_of_its_key() -> None:
    held = {"1/a/all#k", "2/a/all#other", "3/a/all"}
    assert missing_afterwards(held, {"2/a/all#other", "3/a/all"}, {"1/a/all#k", "4/b/1#k"}) == set()
    assert missing_afterwards(held, {"2/a/all#other", "3/a/all"}, {"1/a/all#k", "4/b/1#other"}) == {"1/a/all#k"}
    assert missing_afterwards(held, {"1/a/all#k", "2/a/all#other"}, {"3/a/all", "4/b/1#k"}) == {"3/a/all"}


def test_a_power_cut_takes_only_what_was_not_flushed(tmp_path: Path) -> None:
    log = tmp_path / "t-0"
    log.mkdir()
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n2\nt 1 99\nt 0 11\n")
    batches = [batch(offset, [str(offset)]) for offset in range(10, 15)]
    (log / "00000000000000000000.log").write_bytes(batch(0, ["0"]))
    ends = set()
    for seed in range(60):
        (log / "00000000000000000010.log").write_bytes(b"".join(batches))
        was_cut = page_cache.cut(log, Random(seed))
        kept = [record.value for record in records(log)]
        assert kept == [str(offset) for offset in (0, *range(10, 15))][: len(kept)]
        assert was_cut == (len(kept) < 6)
        ends.add(len(kept))
    assert ends == {2, 3, 4, 5, 6}
