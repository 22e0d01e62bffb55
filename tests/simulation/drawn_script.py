# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the script of a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from simulation.certain_forks import ended_elsewhere, forked_offsets, forked_records
from simulation.client_quotas import RATES
from simulation.damage_patterns import (
    BEFORE_MOVES,
    CALM,
    FAULTS,
    FAULTS_OF_MOVES,
    FORKED,
    FORKS,
    OLD_LEADER,
    OTHERS,
    REPLAYED_PATTERNS,
    STRUCK_REQUESTS,
    UNCLEAN_BEFORE,
    draw_damage,
    draw_pattern,
)
from simulation.disk_script import draw_disks
from simulation.group_log import GROUP_LOG
from simulation.large_script import many_epochs, many_partitions
from simulation.later_runs import LaterRun, draw_later_runs
from simulation.logins import ALTER, CLUSTER_ACTION, OF_MOVES, draw_lacking
from simulation.logins import LACKING as LACKING_ANY
from simulation.move_script import draw_moves
from simulation.offset_proofs import proven_by_offsets
from simulation.records_to_save import records_to_save
from simulation.replay_script import draw_replay
from simulation.request_script import CHECK, NO_REQUEST, draw_request
from simulation.review_script import NO_REVIEW, draw_review
from simulation.script import LONG_HANG, Script
from simulation.steps import (
    FULL_DISK,
    HANGING_BROKER,
    LATER_STARTS,
    OF_PARTITIONS,
    OLD_LEADERS,
    SAVING,
    SECONDS_AFTER_CHANGE,
    Step,
    Strike,
    draw_second,
    draw_step,
    draw_step_after_change,
    draw_step_number,
    draw_steps,
)
from simulation.versions import OLDEST
from simulation.world import CHANGES
from simulation.wrong_answers import draw_wrong_answers

MOVES = 0.2  # of all histories
MOST_STEPS_OF_MOVES = 160
SECONDS_OF_MOVES = 8.0
BUSY, SAVED_UNDER_FAULTS = 0.06, 0.06  # of all histories of elections
FOUR_FORKED, OUT_OF_REACH, ELECTED_BEFORE, TWO_LEADERS, DISK_FILLED, KILLED_AT_A_CHANGE = (
    0.12,
    0.15,
    0.08,
    0.06,
    0.05,
    0.08,
)  # of all histories
REQUESTED, REVIEWED = 0.4, 0.5  # of all histories
REVIEWED_REPLAYS, REVIEWED_THROTTLES = 0.3, 0.4  # of the latter
DRIFT = (0.0, 0.0, 0.5, 5.0, 100.0)  # seconds
LATER_RUNS = (7, 9, 12)
WITH_GROUPS, WRITES = 0.4, ("write", "copy", "alone")  # of histories with replays; after these steps groups commit offsets
RETENTION, COMPACTION, CREATED_AGAIN = 0.12, 0.12, 0.06  # of all histories of elections
INTERNAL = 0.06  # of all histories of elections
MANY_PARTITIONS, MANY_EPOCHS, PROVEN = 0.02, 0.04, 0.06  # of all histories of elections
LITTLE_TIME = 0.06  # of all histories of elections
LACKING_FOR_MOVES = 0.25  # of all histories of moves
HOSTILE, DAMAGED, COMMANDS, LACKING, LIMITED = 0.2, 0.15, 0.15, 0.15, 0.08  # of all histories
PREDICTED_REPLAYS = 0.6  # of histories with replays that are asked for in check mode, or proposed, before
PREDICTED = 0.6  # of histories of elections with a login that may elect, without quotas, wrong answers and rare events
DISKS_READ = 0.4  # of all histories of elections
REPLAYED, REPLAYED_FORKS = 0.8, 0.12  # of all histories of elections, and of those
LOSE_POWER = 0.5  # of all histories
AT_CHANGES, FIRST_AT_CHANGES = 0.6, 0.25  # of kills, signals and faults; of the first faults of later runs, of which many change nothing
OLDEST_KAFKA = 0.2  # of all histories
MUCH_TO_SAVE = 0.1  # of all histories of elections whose answers are right
SMALL_LIMITS = 4  # in one of so many histories
LATE = 0.3  # seconds of a recovery in which most faults strike; without faults it takes about so long
AFTER = 0.1  # of all faults: they strike later, mostly when the recovery has ended


def drawn(seed: int) -> Script:
    """Draw the script of a seed."""
    script = _with_reviews(_without_reviews(seed), Random(f"reviews of {seed}"))
    script = _with_later_runs(_that_is_large(script, Random(f"size of {seed}")), Random(f"later runs of {seed}"))
    script = replace(
        script,
        small_limits=seed % SMALL_LIMITS == 1,
        loses_power=script.second is None and Random(f"power of {seed}").random() < LOSE_POWER,
    )
    script = _with_wrong_input(script, Random(f"wrong input of {seed}"))
    login = Random(f"login of {seed}")
    if not script.is_certain and login.random() < LIMITED:
        script = replace(script, quota=login.choice(RATES))
    share = LACKING if script.moves is None else LACKING_FOR_MOVES
    is_right = script.is_certain or script.wrong_answers or login.random() >= share
    if not is_right:
        lacks = draw_lacking(login, OF_MOVES if script.moves else LACKING_ANY)
        script = replace(script, lacks=lacks, controllers=script.controllers or CLUSTER_ACTION in lacks)  # it is for their metadata log
    script = _with_prediction(script, Random(f"prediction of {seed}"))
    script = _struck_at_changes(script, Random(f"changes of {seed}"))
    script = _with_predicted_replay(script, Random(f"predicted replay of {seed}"))
    script = _with_records_to_save(script, Random(f"records to save of {seed}"))
    return _on_oldest_kafka(script, Random(f"Kafka of {seed}"))


def _on_oldest_kafka(script: Script, random: Random) -> Script:
    """Return the script, of some seeds on the oldest release, which has no eligible leader replicas."""
    return replace(script, kafka=OLDEST.name, elr=False) if random.random() < OLDEST_KAFKA else script


def _that_is_large(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with many partitions, many leader epochs, or a branch that offsets prove."""
    drawn = random.random()
    if script.moves is not None or script.is_certain or script.compacted or drawn >= MANY_PARTITIONS + MANY_EPOCHS + PROVEN:
        return script
    if drawn >= MANY_PARTITIONS + MANY_EPOCHS:
        return replace(script, **proven_by_offsets("orders", random))
    return replace(script, **(many_partitions if drawn < MANY_PARTITIONS else many_epochs)(random))


def _with_later_runs(script: Script, random: Random) -> Script:
    """Return the script, of most seeds with recoveries after the first one. Where it must be certain what is saved and replayed there are none."""
    if script.is_certain:
        return script
    script = replace(script, drift=random.choice(DRIFT))
    if script.moves is not None:
        return script
    return replace(script, later=draw_later_runs(random, draw_damage, FAULTS, random.choice(LATER_RUNS)))


def _with_wrong_input(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with a broker that answers wrongly, with damaged files, or with other commands."""
    drawn = random.random()
    if drawn < HOSTILE:
        script = script if script.moves or random.random() < 0.2 else _with_survivors(script, random)
        later = tuple(replace(run, wrong=random.randrange(1 << 20) if random.random() < 0.5 else None) for run in script.later)
        return replace(script, wrong_answers=draw_wrong_answers(random), later=later)
    if drawn < HOSTILE + DAMAGED and script.moves is not None:
        return replace(script, damaged=random.randrange(1 << 20))
    if drawn < HOSTILE + DAMAGED:
        return replace(script, damaged=random.randrange(1 << 20), disks=script.disks or draw_disks(random))
    if drawn > 1 - COMMANDS and script.moves is None:
        return replace(script, commands=random.randrange(1 << 20))
    return script


def _with_prediction(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with a run in check mode that nothing follows but the run that it predicts.

    What would have disturbed that one comes after it, with the same damage again. Histories of rare events stay.
    """
    is_rare = script.is_certain or script.between or (script.strike is not None and script.strike.request in SAVING)
    is_other = script.moves or script.wrong_answers or ALTER in script.lacks or script.quota
    if is_rare or is_other or random.random() >= PREDICTED:
        return script
    again = LaterRun(script.damage, script.faults, script.kill_at, script.request.stop_at)
    return replace(
        script,
        request=replace(script.request, rehearsal=CHECK, stop_at=None),
        reviews=replace(script.reviews, names=None, meanwhile=None),
        faults=(),
        strike=None,
        kill_at=None,
        second=None,
        review=0.0,
        later=(again, *script.later, *draw_later_runs(random, draw_damage, FAULTS, 1)),
    )


def _struck_at_changes(script: Script, random: Random) -> Script:
    """Return the script, with many of its kills, signals and faults from the first change of a run on. Runs change the cluster late, and for a short time."""
    if script.moves is not None:
        return script

    def step(at: int | None) -> int | None:
        return at if at is None or random.random() >= AT_CHANGES else draw_step_after_change(random)

    def strikes(faults: Sequence[Step], first: float = AT_CHANGES) -> tuple[Step, ...]:
        return tuple(
            one if random.random() >= share else one._replace(at=-random.uniform(0.001, SECONDS_AFTER_CHANGE))
            for one, share in zip(faults, (first, *[AT_CHANGES] * len(faults)), strict=False)
        )

    later = tuple(
        replace(run, faults=strikes(run.faults, FIRST_AT_CHANGES), kill_at=step(run.kill_at), stop_at=step(run.stop_at))
        for run in script.later
    )
    request = replace(script.request, stop_at=step(script.request.stop_at))
    return replace(script, faults=strikes(script.faults), kill_at=step(script.kill_at), request=request, later=later)


def _with_predicted_replay(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with a first replay that nothing disturbs, after one in check mode or a proposal."""
    is_asked_for = script.reviews.approves or script.reviews.replay
    if script.replay is None or not is_asked_for or random.random() >= PREDICTED_REPLAYS:
        return script
    replay = replace(script.replay, kill_at=None, second=None, faults=(), strike=None, stop_at=None)
    return replace(script, replay=replay, reviews=replace(script.reviews, offline=None))


def _with_records_to_save(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with two brokers of which much is to be saved, while something strikes, or which limits do not allow."""
    if script.moves or script.is_certain or script.wrong_answers or script.quota or random.random() >= MUCH_TO_SAVE:
        return script
    return replace(script, **records_to_save(random))


def _with_reviews(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with what operators hand in, in some of these for records that are saved for certain."""
    if random.random() >= REVIEWED:
        return script
    script = replace(script, reviews=draw_review(random))
    if script.moves is not None and random.random() < REVIEWED_THROTTLES:
        moves = replace(script.moves, standing=2000, expires_after=random.choice((None, 1.0, 1.0, 20.0, 600.0)))
        options = {**script.request.options, "remove_expired_throttle": True}
        return replace(script, moves=moves, request=replace(script.request, moves=None, options=options))
    if script.moves is not None or random.random() >= REVIEWED_REPLAYS:
        return script
    forked = random.choice((_with_forks_to_replay, _with_certain_forks, _with_certain_forks, _with_certain_forks))
    # Batches of idempotent producers are cleaned in another way, and their transactions end with their topic.
    are_changed = script.compacted or any(step.what == "create_again" for step in (*script.damage, *script.faults))
    script = replace(forked(script, random), replay=replace(draw_replay(random), producers=not are_changed))
    if "target_topic" in script.reviews.replay:
        script = replace(script, topics={**script.topics, "payments": [[1, 2, 3]]}, min_isr={**script.min_isr, "payments": 1})
    return script


def _without_reviews(seed: int) -> Script:
    random = Random(seed)
    brokers = random.choice((3, 3, 4, 5))
    topics, min_isr = {}, {}
    for topic in ("orders", "payments")[: random.choice((1, 1, 2))]:
        replicas = min(brokers, random.choice((2, 3, 3, 4)))
        topics[topic] = [random.sample(range(1, brokers + 1), replicas) for _ in range(random.choice((1, 1, 2, 3)))]
        min_isr[topic] = random.choice((1, 2, 2))
    script = Script(
        seed,
        brokers,
        topics,
        min_isr,
        elr=random.random() < 0.5,
        strategy="aggressive" if random.random() < 0.2 else "balanced",
        controllers=random.random() < 0.5,
        damage=draw_damage(random),
        faults=tuple(
            step._replace(at=random.uniform(0, 10 * LATE) if random.random() < AFTER else draw_second(random))
            for step in draw_steps(random, FAULTS, random.choice((0, 1, 1, 1, 2, 4)))
        ),
        kill_at=draw_step_number(random) if random.random() < 0.5 else None,
        second=random.uniform(0, LATE) if random.random() < 0.15 else None,
        duration=random.choice((3.0, 12.0, 12.0)),
        review=random.choice((0.0, 0.0, 0.0, 2.0, 10.0)),
        strike=Strike(random.choice(STRUCK_REQUESTS), random.randrange(3), random.choice((2.0, 6.0, 15.0, 0.0)))
        if random.random() < 0.25
        else None,
    )
    asked = Random(f"request of {seed}")
    if asked.random() < REQUESTED:
        script = replace(script, request=draw_request(asked))
    if script.review and random.random() >= 0.3:
        # While a plan is reviewed, a broker is repaired.
        repair = draw_step("start", random, 0)._replace(at=random.uniform(0, script.review))
        script = replace(script, faults=(*script.faults, repair))
    # Histories of elections are the same as without moves.
    other = Random(f"moves of {seed}")
    if other.random() < MOVES:
        return _with_moves(script, other)
    script = _with_rare_events(_with_forks(script, Random(f"forks of {seed}")), Random(f"rare events of {seed}"))
    script = _with_replay(_with_busy_brokers(script, Random(f"busy brokers of {seed}")), Random(f"replay of {seed}"))
    script = _with_changed_topics(_with_disks(script, Random(f"disks of {seed}")), Random(f"topics of {seed}"))
    script = _with_internal_topic(script, Random(f"internal topic of {seed}"))
    return _with_little_time(script, Random(f"time of {seed}"))


def _with_forks(script: Script, random: Random, share: float = FOUR_FORKED) -> Script:
    """Return the script, of a share of seeds with logs that have forked for certain: an election must choose, and save records of the others."""
    if random.random() >= share:
        return script
    brokers, (first, *others) = random.choice((4, 5)), script.topics
    damage = (*draw_steps(random, CALM, random.randrange(0, 8)), *draw_pattern(random, random.choice(FORKED)))
    return replace(
        script,
        brokers=brokers,
        topics={
            first: [random.sample(range(1, brokers + 1), 4)],
            **{topic: script.topics[topic] for topic in others if brokers >= script.brokers},
        },
        strategy=random.choice(("aggressive", "balanced")),
        controllers=random.random() < 0.6,
        damage=_without_loss(damage),
    )


def _with_survivors(script: Script, random: Random) -> Script:
    """Return the script with several partitions to elect, of which several replicas live, so that one of them may answer wrongly."""
    script = replace(_with_forks(script, random, 1.0), replay=None)
    (first, (replicas, *_)), *_ = script.topics.items()
    starts = draw_steps(random, {"start_first": 1}, random.choice((0, 1, 1, 2)))
    script = replace(
        script,
        topics={**script.topics, first: [random.sample(replicas, len(replicas)) for _ in range(random.choice((1, 2, 3)))]},
        damage=_without_loss((*script.damage, *starts)),
    )
    if random.random() < 0.4:
        return script
    return replace(script, faults=(), kill_at=None, second=None, strike=None, request=NO_REQUEST, reviews=NO_REVIEW)


def _without_loss(damage: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps so that no broker comes back without the end of its logs."""
    return tuple(step._replace(numbers=(step.numbers[0], 0, *step.numbers[2:])) if step.what == "start_first" else step for step in damage)


def _with_rare_events(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with a broker that control nodes do not reach, or with an unclean election before."""
    if random.random() < OUT_OF_REACH:
        hidden = draw_step("hide", random, 0)._replace(at=random.choice((0.0, random.uniform(0, LATE))))
        script = replace(script, faults=(*script.faults, hidden))
    if random.random() < ELECTED_BEFORE:
        damage = (*draw_steps(random, CALM, random.randrange(0, 6)), *draw_pattern(random, random.choice(UNCLEAN_BEFORE)))
        script = replace(script, damage=damage)
    elif random.random() < TWO_LEADERS:
        damage = (*draw_steps(random, CALM, random.randrange(0, 6)), *draw_pattern(random, random.choice(OLD_LEADER)))
        late = [draw_step("write_to_old_leader", random, 0)._replace(at=random.uniform(0, LATE)) for _ in range(random.choice((0, 1, 2)))]
        # This strategy elects although the old leader, which is fenced, has more records.
        strategy = random.choice((script.strategy, "aggressive"))
        script = replace(script, damage=damage, faults=(*script.faults, *late), strategy=strategy)
        if random.random() < 0.5:
            script = replace(script, strike=Strike(OLD_LEADERS, random.randrange(3), 0.0))
    if random.random() < SAVED_UNDER_FAULTS:
        script = _with_faults_while_saving(script, random)
    elif random.random() < DISK_FILLED:
        # What is forked is elected by this strategy, and so there is something to save.
        damage = (*draw_steps(random, CALM, random.randrange(0, 6)), *draw_pattern(random, random.choice(FORKS)))
        strike = Strike(FULL_DISK, random.randrange(3), random.choice((0.005, 0.02, 0.1)))
        script = replace(script, damage=damage, strategy="aggressive", strike=strike)
    elif random.random() < KILLED_AT_A_CHANGE:
        what = random.choice(CHANGES)
        strike = Strike(what, random.choice((0, 0, 0, 1)), random.choice((LONG_HANG, 15.0)), kills_run=random.random() < 0.7)
        between = draw_steps(random, OTHERS, random.choice((0, 1, 1, 2)))
        script = replace(script, strike=strike, kill_at=None, between=tuple(between))
    return script


def _with_faults_while_saving(script: Script, random: Random) -> Script:
    """Return the script with logs that have forked, of which a broker hangs while they are saved, or which start later then."""
    damage = (*draw_steps(random, CALM, random.randrange(0, 6)), *draw_pattern(random, random.choice(FORKS)))
    number, seconds = random.choice((0, 0, 1, 2)), random.choice((0.0, 0.0, 2.0, 6.0, 15.0))
    strike = Strike(HANGING_BROKER if seconds else LATER_STARTS, number, seconds)
    options = random.choice(({}, {"save_timeout": 2.0}, {"save_timeout": 2.0, "saved_bytes_per_second": 50}))
    request = replace(script.request, options={**script.request.options, **options})
    return replace(script, damage=damage, strategy="aggressive", strike=strike, request=request)


def _with_busy_brokers(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with brokers that learn late of what the controller decides."""
    if random.random() >= BUSY:
        return script
    busy = draw_step("make_busy", random, 0)._replace(at=random.uniform(0, LATE))
    return replace(script, faults=(*script.faults, busy))


def _with_moves(script: Script, random: Random) -> Script:
    """Return the script of a history in which replicas are moved."""
    script = replace(
        script,
        damage=tuple(draw_steps(random, BEFORE_MOVES, random.randrange(5, 25))),
        faults=tuple(
            step._replace(at=random.choice((random.uniform(0, LATE), random.uniform(0, SECONDS_OF_MOVES))))
            for step in draw_steps(random, FAULTS_OF_MOVES, random.choice((0, 1, 1, 2, 3, 5)))
        ),
        kill_at=random.randrange(1, MOST_STEPS_OF_MOVES) if random.random() < 0.4 else None,
        second=random.uniform(0, SECONDS_OF_MOVES) if random.random() < 0.3 else None,
        review=0.0,  # these have no review
        moves=draw_moves(random, script.brokers, script.topics),
    )
    if script.request.stop_at is not None:
        script = replace(script, request=replace(script.request, stop_at=random.randrange(1, MOST_STEPS_OF_MOVES)))
    if script.request.moves and script.second is None:
        script = replace(script, second=random.uniform(0, SECONDS_OF_MOVES))
    return script


def _with_replay(script: Script, random: Random) -> Script:
    """Return the script, of most seeds with a replay of what was saved, and of some with logs that have forked, so that there is something to save."""
    if random.random() >= REPLAYED:
        return script
    if random.random() < REPLAYED_FORKS:
        script = _with_forks_to_replay(script, random)
    script = replace(script, replay=draw_replay(random))
    if random.random() < WITH_GROUPS:
        script = replace(script, damage=tuple(_with_commits(script.damage, random)))
    return script


def _with_forks_to_replay(script: Script, random: Random) -> Script:
    """Return the script with logs that have forked, of which one has records and ends of transactions that were committed in it alone."""
    pattern = [one for what in random.choice(REPLAYED_PATTERNS) for one in [what] * (random.choice((1, 2, 4)) if what == "write" else 1)]
    damage = (*draw_steps(random, CALM, random.randrange(0, 6)), *draw_pattern(random, pattern))
    brokers, (first, *_) = random.choice((3, 4)), script.topics
    return replace(
        script,
        brokers=brokers,
        topics={first: [random.sample(range(1, brokers + 1), 3)]},
        min_isr={first: random.choice((1, 1, 2))},
        damage=_without_loss(damage),
        faults=script.faults if random.random() < 0.3 else (),
        strategy=random.choice(("aggressive", "balanced")),
    )


def _with_certain_forks(script: Script, random: Random) -> Script:
    """Return the script with logs of which it is certain how they have forked, and which transactions or offsets of groups they have."""
    first, *_ = script.topics
    return replace(
        script,
        **random.choice((forked_records, forked_offsets, forked_offsets, ended_elsewhere))(first, random),
        faults=script.faults if random.random() < 0.2 else (),
        kill_at=script.kill_at if random.random() < 0.2 else None,
        second=None,
        request=NO_REQUEST,
        is_certain=True,
    )


def _with_disks(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with disks of lost brokers that operators read."""
    return replace(script, disks=draw_disks(random)) if random.random() < DISKS_READ else script


def _with_changed_topics(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with logs whose start moves, or that are compacted, or with topics that are created again."""
    drawn = random.random()
    if drawn < RETENTION + COMPACTION + CREATED_AGAIN:
        # What healthy snapshots and groups know is compared with logs that have changed.
        script = replace(script, damage=tuple(_with_commits(script.damage, random)))
        if random.random() < 0.5:
            snapshots = random.choice(((0.0, 60.0), (0.0, 40.0, 40.0, 40.0), (0.0, 40.0, 700.0)))
            script = replace(script, request=replace(script.request, snapshots=snapshots))
    if drawn < RETENTION:
        return _with_more(script, random, ("delete_records", "expire"))
    if drawn > RETENTION + COMPACTION + CREATED_AGAIN:
        return script
    # Batches of idempotent producers are cleaned in another way, and their transactions end with their topic.
    replay = None if script.replay is None else replace(script.replay, producers=False)
    if drawn < RETENTION + COMPACTION:
        compacted = tuple(topic for topic in script.topics if random.random() < 0.8) or (*script.topics,)[:1]
        return _with_more(replace(script, compacted=compacted, replay=replay), random, ("clean",))
    again = draw_step("create_again", random, random.randrange(1000))
    if random.random() < 0.5:
        at = random.randrange(len(script.damage) + 1)
        return replace(script, replay=replay, damage=(*script.damage[:at], again, *script.damage[at:]))
    late = again._replace(at=random.uniform(0, max(LATE, script.review)))
    return replace(script, replay=replay, faults=(*script.faults, late))


def _with_internal_topic(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with __consumer_offsets as a topic, which goes with another partition: its election comes first."""
    if random.random() >= INTERNAL:
        return script
    (replicas, *_), *_ = script.topics.values()
    topics = {**script.topics, GROUP_LOG[0]: [random.sample(replicas, len(replicas))]}
    number = sum(map(len, script.topics.values()))
    alone, crash = (draw_step(what, random, number) for what in ("alone", "crash_leader"))
    of_first = [
        step._replace(numbers=(0, *step.numbers[1:])) if step.what in OF_PARTITIONS else step
        for step in draw_pattern(random, random.choice(FORKS))
    ]
    damage = (*_with_commits([*draw_steps(random, CALM, random.randrange(0, 6)), alone, *of_first], random), crash)
    return replace(
        script,
        topics=topics,
        min_isr={**script.min_isr, GROUP_LOG[0]: 1},
        damage=_without_loss(damage),
        replay=None,  # records of internal topics are not replayed
    )


def _with_little_time(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with so little time for evidence that not all of it is read. The last runs have more."""
    return replace(script, duration=random.choice((0.02, 0.05, 0.1, 0.2, 0.4, 1.0))) if random.random() < LITTLE_TIME else script


def _with_more(script: Script, random: Random, kinds: Sequence[str]) -> Script:
    """Return the script with more steps of these kinds."""
    damage: list[Step] = []
    for step in script.damage:
        damage.append(step)
        while random.random() < 0.3:
            damage.append(draw_step(random.choice(kinds), random, step.numbers[0]))
    late = [
        draw_step(random.choice(kinds), random, random.randrange(1000))._replace(at=random.uniform(0, 2 * LATE))
        for _ in range(random.choice((0, 0, 1, 3)))
    ]
    return replace(script, damage=tuple(damage), faults=(*script.faults, *late))


def _with_commits(damage: Sequence[Step], random: Random) -> Iterator[Step]:
    """Yield the steps, and after some of them that a group commits an offset."""
    for step in damage:
        yield step
        if step.what in WRITES and random.random() < 0.4:
            yield Step("commit_offset", (step.numbers[0], random.randrange(2), 0, 0))
