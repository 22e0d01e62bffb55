# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the script of a seed."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from simulation.client_quotas import RATES
from simulation.confirmed_numbers import CONFIRM, draw_confirmation
from simulation.damage_patterns import BEFORE_MOVES, FAULTS, FAULTS_OF_MOVES, STRUCK_REQUESTS, draw_damage
from simulation.disk_script import draw_disks
from simulation.drawn_forks import with_certain_forks, with_forks, with_forks_to_replay, with_survivors
from simulation.drawn_settings import with_other_min_isr, with_unclean_elections
from simulation.drawn_strikes import struck_at_changes, with_busy_brokers, with_cut_connections, with_rare_events, with_struck_throttles
from simulation.drawn_topics import with_changed_topics, with_commits, with_internal_topic
from simulation.large_script import many_epochs, many_partitions
from simulation.later_runs import LaterRun, draw_later_runs
from simulation.logins import ALTER, CLUSTER_ACTION, OF_MOVES, draw_lacking
from simulation.logins import LACKING as LACKING_ANY
from simulation.move_script import draw_moves
from simulation.offset_proofs import proven_by_offsets
from simulation.records_to_save import records_to_save
from simulation.replay_script import draw_replay
from simulation.request_script import CHECK, draw_request
from simulation.review_script import draw_review
from simulation.script import Script
from simulation.steps import LATE, SAVING, Strike, draw_second, draw_step, draw_step_number, draw_steps
from simulation.versions import OLDEST
from simulation.wrong_answers import draw_wrong_answers

MOVES = 0.2  # of all histories
MOST_STEPS_OF_MOVES = 160
SECONDS_OF_MOVES = 8.0
REQUESTED, REVIEWED = 0.4, 0.5  # of all histories
REVIEWED_REPLAYS, REVIEWED_THROTTLES = 0.3, 0.4  # of the latter
DRIFT = (0.0, 0.0, 0.5, 5.0, 100.0)  # seconds
LATER_RUNS = (10, 12, 16)
WITH_GROUPS = 0.4  # of histories with replays; after these steps groups commit offsets
MANY_PARTITIONS, MANY_EPOCHS, PROVEN = 0.02, 0.04, 0.06  # of all histories of elections
CONFIRMED = 0.15  # of the histories of elections
LITTLE_TIME = 0.06  # of all histories of elections
LACKING_FOR_MOVES = 0.25  # of all histories of moves
HOSTILE, DAMAGED, COMMANDS, LACKING, LIMITED = 0.2, 0.15, 0.15, 0.15, 0.08  # of all histories
PREDICTED_REPLAYS = 0.6  # of histories with replays that are asked for in check mode, or proposed, before
PREDICTED = 0.6  # of histories of elections with a login that may elect, without quotas, wrong answers and rare events
DISKS_READ = 0.4  # of all histories of elections
REPLAYED, REPLAYED_FORKS = 0.8, 0.12  # of all histories of elections, and of those
LOSE_POWER = 0.5  # of all histories
OLDEST_KAFKA = 0.2  # of all histories
MUCH_TO_SAVE = 0.1  # of all histories of elections whose answers are right
CHANGED_PLANS = 0.15  # of all histories with later runs
ONE_ALIVE = 0.25  # of all histories of elections
SMALL_LIMITS = 4  # in one of so many histories
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
    script = script if script.is_certain else with_cut_connections(script, Random(f"cuts of {seed}"))
    script = with_struck_throttles(script, Random(f"strikes at throttles of {seed}"))
    script = with_other_min_isr(script, Random(f"min.insync.replicas of {seed}"))
    script = with_unclean_elections(script, Random(f"unclean elections of {seed}"))
    script = _with_prediction(script, Random(f"prediction of {seed}"))
    script = struck_at_changes(script, Random(f"changes of {seed}"))
    script = _with_predicted_replay(script, Random(f"predicted replay of {seed}"))
    script = _with_records_to_save(script, Random(f"records to save of {seed}"))
    script = _with_one_broker(_on_oldest_kafka(script, Random(f"Kafka of {seed}")), Random(f"brokers that run of {seed}"))
    script = _with_confirmation(script, Random(f"confirmation of {seed}"))
    return _with_changed_plans(script, Random(f"what changes after plans of {seed}"))


def _with_changed_plans(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with later runs in which something changes between plan and election."""
    if not script.later or random.random() >= CHANGED_PLANS:
        return script
    return replace(script, reviews=replace(script.reviews, changes=random.randrange(1 << 20)))


def _with_confirmation(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with elections that are confirmed by their numbers. None has a fault that must strike a run which elects."""
    if script.moves or script.is_certain or script.strike or random.random() >= CONFIRMED:
        return script
    return replace(script, request=replace(script.request, options={**script.request.options, CONFIRM: draw_confirmation(random)}))


def _on_oldest_kafka(script: Script, random: Random) -> Script:
    """Return the script, of some seeds on the oldest release, which has no eligible leader replicas."""
    return replace(script, kafka=OLDEST.name, elr=False) if random.random() < OLDEST_KAFKA else script


def _with_one_broker(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with recoveries that begin while one broker runs."""
    return script if script.moves or script.is_certain or random.random() >= ONE_ALIVE else replace(script, least_brokers=1)


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
        script = script if script.moves or random.random() < 0.2 else with_survivors(script, random)
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
    forked = random.choice((with_forks_to_replay, with_certain_forks, with_certain_forks, with_certain_forks))
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
    script = with_rare_events(with_forks(script, Random(f"forks of {seed}")), Random(f"rare events of {seed}"))
    script = _with_replay(with_busy_brokers(script, Random(f"busy brokers of {seed}")), Random(f"replay of {seed}"))
    script = with_changed_topics(_with_disks(script, Random(f"disks of {seed}")), Random(f"topics of {seed}"))
    script = with_internal_topic(script, Random(f"internal topic of {seed}"))
    return _with_little_time(script, Random(f"time of {seed}"))


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
        script = with_forks_to_replay(script, random)
    script = replace(script, replay=draw_replay(random))
    if random.random() < WITH_GROUPS:
        script = replace(script, damage=tuple(with_commits(script.damage, random)))
    return script


def _with_disks(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with disks of lost brokers that operators read."""
    return replace(script, disks=draw_disks(random)) if random.random() < DISKS_READ else script


def _with_little_time(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with so little time for evidence that not all of it is read. The last runs have more."""
    return replace(script, duration=random.choice((0.02, 0.05, 0.1, 0.2, 0.4, 1.0))) if random.random() < LITTLE_TIME else script
