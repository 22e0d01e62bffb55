"""Scenarios in which a disk decides: one that is not mounted, that has outlived its machine, that has failed, or that came back with its broker. Pure."""

from __future__ import annotations

from gameday.scenario import (
    ALLOW,
    CLEAN,
    GONE_FOR_GOOD,
    LAST_KNOWN,
    ONLINE,
    OTHER_DISK,
    RECOVER,
    RESCUE,
    SERVE,
    Dice,
    Site,
    Trouble,
    disk_of,
    offline,
)

RUN = "night"  # the name of a run that later commands refer to


def unmounted_disk(dice: Dice) -> dict[str, object]:
    """The last in-sync replica lies on a disk that can be mounted again."""
    site = Site("east", roles := dice.roles(), dice.losses(("lagging", CLEAN), ("lagging", CLEAN)), abrupt=False)
    (lost,) = roles.lost
    return {
        "title": "The disk of the last in-sync replica can be mounted again",
        "sites": (site,),
        "troubles": (Trouble("unmounted", "east", (lost,)),),
        "alert": (offline(site), f"kafka-east: broker {lost} has no heartbeat"),
        "colleagues": (f"Storage: the volume of broker {lost} was detached by mistake. It is intact. Ask, and we attach it.",),
        "notes": {("east", lost): "machine up, /data not mounted"},
        "hints": ("An election gives up what only the lost broker has. Is it lost?", f"mount {lost}, then wait"),
        "best": ("run plan", f"mount {lost}", "wait", "done"),
        "why": (
            f"Broker {lost} was the last in-sync replica: it has every acknowledged record. Once its disk is mounted it leads again, and no record is lost.",
            "Every election before that loses what the survivors had not copied, for good: the broker truncates its log when it follows another leader.",
        ),
        "docs": ("docs/decisions.md", "docs/kip-966.md"),
    }


def no_survivor(dice: Dice) -> dict[str, object]:
    """No live broker has a log of one topic. Another topic can be elected."""
    losses = dice.losses(("lagging", SERVE), ("alone_returning", CLEAN))
    site = Site("east", roles := dice.roles(returning=True), losses, brokers=4, returns=False)
    (lost,) = roles.lost
    other, alone = (loss.topic for loss in losses)
    return {
        "title": "A topic without a survivor, beside one that can be elected",
        "sites": (site,),
        "troubles": (Trouble("unmounted", "east", (4,)),),
        "alert": (offline(site), f"kafka-east: brokers {lost} and 4 have no heartbeat"),
        "colleagues": (
            GONE_FOR_GOOD.format(lost),
            "Storage: broker 4 was shut down for the move of its volume. The copy is ready. Ask, and we attach it.",
            f"Owner of {alone}: we never paid for a second replica. We need to write again; if it has to start empty, then so be it.",
            f"Owner of {other}: we need it now, with whatever is left.",
        ),
        "notes": {("east", lost): "machine destroyed", ("east", 4): "machine up, /data not mounted"},
        "hints": (
            f"Nothing can be elected for {alone}: no live broker has a log of it. What would an empty one cost, and what does storage offer?",
            f"{RECOVER} elects {other} and holds {alone}. Then: mount 4, wait",
        ),
        "best": ("run plan", RECOVER, "mount 4", "wait", "done"),
        "why": (
            f"The replicas of {other} are alive and not complete: recover elects the best one. {alone} is held (no_survivor): there is nothing to elect.",
            "The playbook revive would give it an empty leader, and the broker deletes its log when it comes back then. "
            "A disk that can be attached comes first: broker 4 has every record, and leads again.",
        ),
        "docs": ("docs/revive.md", "docs/decisions.md"),
        "par": 360.0,
    }


def last_known_leader(dice: Dice) -> dict[str, object]:
    """Kafka waits for a member of the ELR that is gone, and has the best replica at hand."""
    site = Site("east", roles := dice.roles(), dice.losses((LAST_KNOWN, SERVE), (LAST_KNOWN, SERVE)))
    (lost,) = roles.lost
    return {
        "title": "The last leader is back, and Kafka does not elect it",
        "sites": (site,),
        "alert": (offline(site), f"kafka-east: broker {lost} has no heartbeat"),
        "colleagues": (
            GONE_FOR_GOOD.format(lost),
            f"Platform: the power cut took the others along, too. Brokers {min(roles.survivors)} and {max(roles.survivors)} are up again, with their disks.",
        ),
        "notes": {("east", lost): "machine destroyed"},
        "hints": (
            "Every broker that can come back is back. What does Kafka wait for? kafka-topics.sh --describe has Elr and LastKnownElr, and the plan knows both.",
            f"Broker {lost} is the ELR, and it is gone: Kafka waits for ever. {RECOVER}",
        ),
        "best": ("run plan", RECOVER, "done"),
        "why": (
            f"Broker {lost} left the ISR last but one, so it is an eligible leader replica. As long as there is one, Kafka elects neither another replica "
            f"nor the last known leader, broker {roles.ahead}, whose shutdown was not clean. To wait does not help.",
            f"Broker {roles.ahead} led until the end, and has every record that was acknowledged: the plan elects it, and no acknowledged record is lost. "
            "Kafka's own tool takes the first live replica of the assignment.",
        ),
        "docs": ("docs/kip-966.md", "docs/decisions.md"),
    }


def lost_disk(dice: Dice) -> dict[str, object]:
    """The machine of the last in-sync replica is gone, and its disk can be read, but not waited for."""
    site = Site("east", roles := dice.roles(), dice.losses(("lagging", RESCUE), ("identical", RESCUE)))
    (lost,) = roles.lost
    elect = f"{RECOVER} -e kafka_recovery_run_id={RUN}"
    rescue, replay = f"run rescue -e kafka_recovery_run_id={RUN}", f"run replay -e kafka_recovery_replay_run_id={RUN} {ALLOW}"
    first, second = (loss.topic for loss in site.losses)
    return {
        "title": "The machine is gone, its disk is here, and the service must be up now",
        "sites": (site,),
        "disks": (("east", lost),),
        "alert": (offline(site), f"kafka-east: broker {lost} has no heartbeat"),
        "colleagues": (
            f"Platform: the machine of broker {lost} is gone for good, no other one can start Kafka with its disk. The disk itself is fine: we have "
            f"attached it to this machine, read-only, at {disk_of('east', lost)}. Your inventory has it as east-broker-{lost}.",
            f"Owner of {first} and {second}: we must be up now, with whatever is left. What was lost we take later, too: "
            "every record has an id, and we do not need them in order.",
        ),
        "notes": {("east", lost): "machine destroyed, its disk is attached here"},
        "hints": (
            "The service comes first, and what an election gives up is on the disk. docs/lost-disks.md has a playbook that reads it.",
            f"{elect}, then {rescue}, then {replay}",
        ),
        "best": ("run plan", elect, rescue, replay, "done"),
        "why": (
            "The broker does not come back, so the best survivor is elected at once. What it lacks is not lost: rescue compares the disk with the new leaders, "
            "and saves exactly what they do not have.",
            "replay writes the saved records to their partitions again, behind the newest ones, each one once. The owner said that this order is good enough; "
            "where it is not, the records stay saved.",
        ),
        "docs": ("docs/lost-disks.md", "docs/record-replay.md"),
    }


def failed_disk(dice: Dice) -> dict[str, object]:
    """One disk of a broker has failed. The broker lives, so Kafka neither fences it nor elects another one without loss."""
    site = Site("east", roles := dice.roles(), dice.losses(("lagging", SERVE), ("lagging", SERVE), (OTHER_DISK, ONLINE)))
    (lost,) = roles.lost
    return {
        "title": "A disk has failed, and its broker lives",
        "sites": (site,),
        "alert": (offline(site), f"kafka-east: OfflineLogDirectoryCount = 1: broker {lost}"),
        "colleagues": (
            f"Hardware: one of the two disks of broker {lost} is dead, nothing can be read from it. A new one, empty, comes tomorrow.",
            f"Platform: broker {lost} runs, and serves what is on its other disk. We can restart it if you want us to.",
        ),
        "notes": {("east", lost): "one of two disks dead"},
        "hints": (
            "The broker is alive, its logs on one disk are not. Ask which replicas have answered: run plan.",
            f"{RECOVER} elects the best survivor of these partitions. What the broker still leads needs nothing: no restart",
        ),
        "best": ("run plan", RECOVER, "done"),
        "why": (
            f"Broker {lost} is unfenced, and its replicas on the dead disk are lost all the same. recover asks every replica, sees the error of the disk, "
            "and elects the longest log that is left.",
            f"A restart brings nothing back: broker {lost} starts without the disk. It only takes the leaders of the partitions away that were never offline.",
        ),
        "docs": ("docs/decisions.md", "docs/reason-codes.md"),
    }
