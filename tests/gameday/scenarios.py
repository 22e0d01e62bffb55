"""What may be wrong tonight. Pure: a seed and a level give one scenario, always the same. Scenarios in which a disk decides are in disk_scenarios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from gameday.disk_scenarios import failed_disk, last_known_leader, lost_disk, no_survivor, unmounted_disk
from gameday.scenario import (
    CLEAN,
    GONE_FOR_GOOD,
    HOLD,
    OFFSETS,
    ONLINE,
    RECOVER,
    RESCUE,
    SERVE,
    Dice,
    Loss,
    Scenario,
    Site,
    Trouble,
    offline,
)
from rig import Plot, Roles

LEVELS = ("easy", "normal", "hard")
FIRST_CONTROLLER = 101
CARELESS = ("run kafka-leader-election --election-type unclean --all-topic-partitions", "done")


def different_lengths(dice: Dice) -> dict[str, object]:
    """All ISR members are lost, survivors hold logs of different length."""
    site = Site("east", roles := dice.roles(), dice.losses(("lagging", SERVE), ("identical", SERVE)))
    (lost,) = roles.lost
    return {
        "title": "Every in-sync replica lost, survivors of different length",
        "sites": (site,),
        "alert": (offline(site), f"kafka-east: broker {lost} has no heartbeat"),
        "colleagues": (GONE_FOR_GOOD.format(lost),),
        "notes": {("east", lost): "machine destroyed"},
        "hints": (
            "Two replicas of each partition are alive. They do not hold the same. The playbook plan says who holds what.",
            f"Every survivor's log is a prefix of the best one: {RECOVER}",
        ),
        "best": ("run plan", RECOVER, "done"),
        "why": (
            "The broker is gone and no logs fork, so there is nothing to wait for: the longest survivor loses least, and recover elects exactly it.",
            "Kafka's own tool takes the first live replica of the assignment, which in most of these partitions is the shorter one.",
        ),
        "docs": ("docs/decisions.md", "docs/loss.md"),
    }


def old_alarm(dice: Dice) -> dict[str, object]:
    """Nothing is wrong but the alarm."""
    site = Site("east", roles := dice.roles(), dice.losses(("already_online", ONLINE), ("already_online", ONLINE)))
    (lost,) = roles.lost
    counts = ", ".join(f"{loss.topic} ({loss.partitions})" for loss in site.losses)
    return {
        "title": "Nothing was wrong but the alarm",
        "sites": (site,),
        "alert": (
            f"kafka-east: OfflinePartitionsCount = {sum(loss.partitions for loss in site.losses)}: {counts}",
            f"kafka-east: broker {lost} has no heartbeat",
        ),
        "colleagues": (f"Platform: broker {lost} is out of service for good, that was announced last week.",),
        "notes": {("east", lost): "taken out of service"},
        "hints": ("Look before you act: status, run plan.", "Every partition has a leader. There is nothing to elect: done"),
        "best": ("run plan", "done"),
        "why": (
            "The alarm came late: a replica came back and was elected by Kafka itself, without loss. The plan shows no partition without a leader.",
            "To look first, and to do nothing when there is nothing to do, is the whole play.",
        ),
        "docs": ("docs/preflight.md", "docs/operations.md"),
    }


def coming_back(dice: Dice) -> dict[str, object]:
    """One broker is gone, another one is coming back with everything."""
    site = Site("east", roles := dice.roles(returning=True), dice.losses(("lagging", SERVE), ("clean_returning", CLEAN)), brokers=4)
    (lost,) = roles.lost
    seconds = dice.seconds(60, 120)
    return {
        "title": "One broker is gone, another one is on its way back",
        "sites": (site,),
        "troubles": (Trouble("starting", "east", (4,), seconds),),
        "alert": (offline(site), f"kafka-east: brokers {lost} and 4 have no heartbeat"),
        "colleagues": (GONE_FOR_GOOD.format(lost), "Platform: broker 4 had a kernel update. It is loading its logs, no idea how long."),
        "notes": {("east", lost): "machine destroyed", ("east", 4): "machine up"},
        "hints": (
            "Not all of these partitions are alike: some have lost their last in-sync replica, some wait for it.",
            f"{RECOVER} elects the ones and holds the others. Then: wait",
        ),
        "best": ("run plan", RECOVER, "wait", "done"),
        "why": (
            f"What broker {lost} led is lost with it: the best survivor is elected. What broker 4 led is whole as soon as it has loaded its logs.",
            "recover distinguishes them (wait_for_clean_leader): one command for both, and patience for the rest.",
        ),
        "docs": ("docs/decisions.md", "docs/kip-966.md"),
        "par": 300 + seconds,
    }


def forks_to_hold(dice: Dice) -> dict[str, object]:
    """Logs fork, and tomorrow the disk that decides is there."""
    site = Site("east", roles := dice.roles(), dice.losses(("forked", HOLD), ("lagging", SERVE)))
    (lost,) = roles.lost
    ledger, other = (loss.topic for loss in site.losses)
    return {
        "title": "Forked logs, and an owner who wants to wait",
        "sites": (site,),
        "alert": (offline(site), f"kafka-east: broker {lost} has no heartbeat"),
        "colleagues": (
            f"Platform: broker {lost} does not start. Its disk goes to the lab; whether they can read it they say tomorrow at 09:00.",
            f"Owner of {ledger}: books. Wrong is worse than late: nothing that loses records before the lab has answered.",
            f"Owner of {other}: we need it now, with whatever is left.",
        ),
        "notes": {("east", lost): "disk failed, in the lab tomorrow"},
        "hints": (
            "The owners of the two topics want different things. So does the default strategy.",
            f"{RECOVER} elects {other} and holds {ledger}. Leave it held: done",
        ),
        "best": ("run plan", RECOVER, "done"),
        "why": (
            f"The survivors of {ledger} hold different records at the same offsets: an election throws one side away, and may throw away the wrong one. "
            "Its owner can wait for the lab.",
            f"recover elects {other}, whose logs do not fork, and holds {ledger}: held is the right result, although the exit code is not 0.",
        ),
        "docs": ("docs/decisions.md", "docs/report.md"),
    }


def forks_to_decide(dice: Dice) -> dict[str, object]:
    """Logs fork, the rest is gone for good, and it has to be up."""
    site = Site("east", roles := dice.roles(), dice.losses(("forked", SERVE), ("identical", SERVE)))
    (lost,) = roles.lost
    topic = site.losses[0].topic
    return {
        "title": "Forked logs, and you must decide",
        "sites": (site,),
        "alert": (offline(site), f"kafka-east: broker {lost} has no heartbeat"),
        "colleagues": (
            GONE_FOR_GOOD.format(lost),
            f"Owner of {topic}: we know that something is lost. Lose as little as possible of what was acknowledged, but we open at 06:00.",
        ),
        "notes": {("east", lost): "machine destroyed"},
        "hints": (
            "What is held has a reason, and the plan names it. Read the explanation of one of these partitions in plans/<run>/east.json.",
            f"The plan says which branch is proven. Take it: {RECOVER} -e kafka_recovery_strategy=aggressive",
        ),
        "best": ("run plan", RECOVER, f"{RECOVER} -e kafka_recovery_strategy=aggressive", "done"),
        "why": (
            f"{topic} forks: the longer log was acknowledged by one broker alone, the shorter one holds what was committed, and the plan has the proof.",
            "balanced leaves that to a person. With the owner's word, aggressive takes the proven branch; Kafka's own tool takes the first live replica.",
        ),
        "docs": ("docs/decisions.md", "docs/loss.md"),
        "par": 420.0,
    }


def hanging(dice: Dice) -> dict[str, object]:
    """A survivor hangs, alive for the cluster and silent to everybody."""
    roles = dice.roles()
    site = Site("east", roles, dice.losses(("lagging", SERVE), ("lagging", SERVE)))
    (lost,) = roles.lost
    seconds = dice.seconds(80, 100)
    return {
        "title": "A broker hangs instead of dying, and it holds the better log",
        "sites": (site,),
        "troubles": (Trouble("hanging", "east", (roles.ahead,), seconds),),
        "alert": (
            offline(site),
            f"kafka-east: broker {lost} has no heartbeat",
            "kafka-east: RequestHandlerAvgIdlePercent: no data from one broker",
        ),
        "colleagues": (GONE_FOR_GOOD.format(lost),),
        "notes": {("east", lost): "machine destroyed"},
        "hints": (
            "As long as one survivor is silent it is not known which log is the best. Who is silent? status",
            f"restart {roles.ahead} (or wait until it answers again), then {RECOVER}",
        ),
        "best": ("run plan", f"restart {roles.ahead}", "wait", RECOVER, "done"),
        "why": (
            f"Broker {roles.ahead} had the records that broker {roles.behind} lacks. Without its answer the plan holds everything (incomplete).",
            "Have it restarted, or wait; then elect. Who elects at once elects the survivor that happens to answer.",
        ),
        "docs": ("docs/decisions.md", "docs/preflight.md"),
        "par": 300 + seconds,
    }


def no_quorum(dice: Dice) -> dict[str, object]:
    """Partitions are offline, and so are the controllers that would elect."""
    site = Site("east", roles := dice.roles(), dice.losses(("lagging", SERVE), ("identical", SERVE)), controllers=3)
    (lost,) = roles.lost
    first, second = dice.random.sample((101, 102, 103), 2)
    return {
        "title": "No quorum: two of three controllers are down",
        "sites": (site,),
        "troubles": (Trouble("down", "east", (first, second), seconds := dice.seconds(150, 200)),),
        "alert": (offline(site), f"kafka-east: broker {lost} has no heartbeat", "kafka-east: ActiveControllerCount = 0"),
        "colleagues": (GONE_FOR_GOOD.format(lost),),
        "notes": {("east", lost): "machine destroyed", ("east", first): "machine up", ("east", second): "machine up"},
        "hints": (
            "No leader is elected without a quorum: more than half of the controllers have to run. The preflight says so.",
            f"restart {first}, wait, then {RECOVER}",
        ),
        "best": ("run plan", f"restart {first}", "wait", RECOVER, "done"),
        "why": (
            "An election is a record in the metadata log; without a majority of controllers none is written. The preflight stops before anything is touched.",
            "So: a controller first, then the partitions, in the usual way.",
        ),
        "docs": ("docs/preflight.md",),
        "par": 300 + seconds,
    }


def two_clusters(dice: Dice) -> dict[str, object]:
    """One cluster needs help, the other one cannot even be asked."""
    east = Site("east", dice.roles(), dice.losses(("lagging", SERVE)))
    west = Site("west", dice.roles(), dice.losses(("identical", SERVE)))
    (east_lost,), (west_lost,) = east.roles.lost, west.roles.lost
    nodes = (*(broker for broker in (1, 2, 3) if broker != west_lost), FIRST_CONTROLLER)
    return {
        "title": "One cluster needs help, another one cannot be reached",
        "sites": (east, west),
        "troubles": (Trouble("hanging", "west", nodes, seconds := dice.seconds(100, 140)),),
        "alert": (offline(east), f"kafka-east: broker {east_lost} has no heartbeat", "kafka-west: no data from any node"),
        "colleagues": (GONE_FOR_GOOD.format(f"{east_lost} of east"), "Network: the line to west is cut. We are at it, a few minutes."),
        "notes": {("east", east_lost): "machine destroyed", ("west", west_lost): "machine destroyed"},
        "hints": (
            "One cluster that cannot be reached does not hold up the others: the playbooks go on without it.",
            f"{RECOVER} for east, wait for west, then the same again",
        ),
        "best": (RECOVER, "wait", RECOVER, "done"),
        "why": (
            "recover works cluster by cluster: east was helped at once, and of west the run says that it could not be reached.",
            "When west answered, it turned out to need the same; the second run did that and left east alone.",
        ),
        "docs": ("docs/operations.md", "docs/preflight.md"),
        "par": 300 + seconds,
    }


def group_offsets(dice: Dice) -> dict[str, object]:
    """The offsets of consumer groups are offline."""
    site = Site("east", roles := dice.roles(), dice.losses(("lagging", SERVE)), group_offsets=True)
    (lost,) = roles.lost
    return {
        "title": f"{OFFSETS} is offline",
        "sites": (site,),
        "alert": (offline(site), f"kafka-east: broker {lost} has no heartbeat", "apps: 40 consumer groups find no coordinator"),
        "colleagues": (GONE_FOR_GOOD.format(lost),),
        "notes": {("east", lost): "machine destroyed"},
        "hints": (
            f"{OFFSETS} is a topic like any other: its records are what groups have committed. Shorter means that groups read again.",
            f"Every survivor's log is a prefix of the best one: {RECOVER}",
        ),
        "best": ("run plan", RECOVER, "done"),
        "why": (
            "Offsets that are lost make consumers read again, or from wherever auto.offset.reset says. The longest survivor loses fewest.",
            "recover elects internal topics by the same evidence, and then says which groups are hit.",
        ),
        "docs": ("docs/impact.md", "docs/decisions.md"),
    }


FAMILIES: dict[str, tuple[str, Callable[[Dice], dict[str, object]]]] = {
    "different_lengths": ("easy", different_lengths),
    "unmounted_disk": ("easy", unmounted_disk),
    "old_alarm": ("easy", old_alarm),
    "coming_back": ("normal", coming_back),
    "forks_to_hold": ("normal", forks_to_hold),
    "group_offsets": ("normal", group_offsets),
    "failed_disk": ("normal", failed_disk),
    "hanging": ("normal", hanging),
    "last_known_leader": ("normal", last_known_leader),
    "no_survivor": ("normal", no_survivor),
    "forks_to_decide": ("hard", forks_to_decide),
    "lost_disk": ("hard", lost_disk),
    "no_quorum": ("hard", no_quorum),
    "two_clusters": ("hard", two_clusters),
}


def pool(level: str) -> Sequence[str]:
    """Scenarios of a level: easy has the easy ones, normal these and its own, hard its own and those of normal."""
    wanted = {"easy": {"easy"}, "normal": {"easy", "normal"}, "hard": {"normal", "hard"}}[level]
    return [key for key, (own, _family) in FAMILIES.items() if own in wanted]


def draw(seed: int, level: str = "normal", only: str | None = None) -> Scenario:
    """The scenario of a seed. `only`: of this family, for tests and for those who know what they want to practise."""
    chosen = only or Random(f"{level}/{seed}").choice(pool(level))
    dice = Dice(seed)
    parts: dict[str, object] = {"troubles": (), **FAMILIES[chosen][1](dice)}
    return Scenario(key=chosen, level=level, seed=seed, clock=dice.clock, **parts)  # type: ignore[arg-type]


def worth(plot: Plot, loss: Loss, roles: Roles) -> tuple[int, int, int]:
    """Of a partition's acknowledged records: all, those that the best play keeps, those that the worst leader that may be had would keep."""
    everything = plot.base + plot.middle + plot.last
    survivors = {roles.ahead: plot.base + plot.middle, roles.behind: plot.base}
    held = [count for broker, count in survivors.items() if broker in plot.replicas]
    if loss.expected == ONLINE:
        return everything, everything, everything
    if loss.expected in {CLEAN, HOLD, RESCUE}:
        return everything, everything, min(held, default=0)
    return everything, max(held, default=0), min(held, default=0)
