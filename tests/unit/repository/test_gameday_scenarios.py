# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Game day: the same seed gives the same scenario, and the texts of a scenario agree with its damage."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from gameday.__main__ import night_inventory
from gameday.prompt import PLAYBOOKS, Prompt
from gameday.scenario import CLEAN, ONLINE, Scenario, disk_of
from gameday.scenarios import FAMILIES, LEVELS, draw, pool, worth
from gameday.stage import Stage
from gameday.stage import settings as cluster_settings
from hypothesis import given
from hypothesis import strategies as st
from repository_root import ROOT

SEEDS = st.integers(0, 100_000)
ANY = st.builds(draw, SEEDS, st.sampled_from(LEVELS))
(NO_DISK,) = draw(1, only="different_lengths").sites
OF_EACH_FAMILY = [draw(seed, only=key) for key in FAMILIES for seed in range(3)]


def each(scenario: Scenario) -> str:
    return f"{scenario.key}-{scenario.seed}"


@given(SEEDS, st.sampled_from(LEVELS))
def test_the_same_seed_and_level_are_the_same_night(seed: int, level: str) -> None:
    assert draw(seed, level) == draw(seed, level)
    assert draw(seed, level).key in pool(level)


@pytest.mark.parametrize("level", LEVELS)
def test_every_scenario_of_a_level_comes_up(level: str) -> None:
    assert {draw(seed, level).key for seed in range(200)} == set(pool(level))


def test_every_scenario_belongs_to_a_level() -> None:
    assert set().union(*map(pool, LEVELS)) == set(FAMILIES)


@given(ANY)
def test_a_night_can_be_built(scenario: Scenario) -> None:
    topics = [(site.name, topic) for site in scenario.sites for topic in site.topics]
    assert len(topics) == len(set(topics))
    assert all(cluster_settings(site) == cluster_settings(scenario.sites[0]) for site in scenario.sites)
    for site in scenario.sites:
        brokers = set(range(1, site.brokers + 1))
        assert all(set(plot.replicas) <= brokers for loss in site.losses for plot in loss.plots(site.roles))
    known = {site.name: site.brokers for site in scenario.sites}
    for trouble in scenario.troubles:
        assert all(node <= known[trouble.site] or node > 100 for node in trouble.nodes)
        assert trouble.kind in {"unmounted", "starting", "hanging", "down"}


@given(ANY)
def test_the_page_says_how_many_partitions_are_offline_and_nothing_of_the_answer(scenario: Scenario) -> None:
    shown = " ".join((*scenario.alert, *scenario.colleagues))
    for site in scenario.sites:
        unseen = any(trouble.site == site.name and len(trouble.nodes) > 1 and trouble.kind == "hanging" for trouble in scenario.troubles)
        online = 0 if scenario.key == "old_alarm" else sum(loss.partitions for loss in site.losses if loss.expected == ONLINE)
        offline = sum(loss.partitions for loss in site.losses) + site.group_offsets - online
        assert unseen or f"kafka-{site.name}: OfflinePartitionsCount = {offline}:" in shown
    for word in (scenario.title, "prefix", "aggressive", "balanced", "recover", "rescue", "replay"):
        assert word not in shown


@given(ANY)
def test_only_who_cannot_come_back_is_called_lost(scenario: Scenario) -> None:
    awaited = {(site.name, site.roles.returning) for site in scenario.sites} | {
        (t.site, node) for t in scenario.troubles for node in t.nodes
    }
    assert not scenario.lost & awaited
    for site in scenario.sites:
        clean = any(loss.expected == CLEAN and loss.kind == "lagging" for loss in site.losses)
        assert (clean or site.failed_disk) != ((site.name, site.roles.lost[0]) in scenario.lost)


@given(ANY)
def test_the_best_play_keeps_no_less_than_the_worst_and_no_more_than_there_was(scenario: Scenario) -> None:
    for site in scenario.sites:
        for loss in site.losses:
            for plot in loss.plots(site.roles):
                acknowledged, best, worst = worth(plot, loss, site.roles)
                assert 0 <= worst <= best <= acknowledged
                # Without a survivor the worst that can be done is to start again empty.
                assert (worst > 0) == bool({site.roles.ahead, site.roles.behind} & set(plot.replicas))
                assert best == acknowledged or loss.expected != ONLINE


@pytest.mark.parametrize("scenario", OF_EACH_FAMILY, ids=each)
def test_what_is_advised_can_be_typed_and_read(scenario: Scenario) -> None:
    assert scenario.best[-1] == "done" and len(scenario.hints) == 2 and scenario.why
    for command in scenario.best:
        first, *rest = shlex.split(command)
        assert first in {"run", "wait", "mount", "restart", "done"}
        assert first != "run" or rest[0] in PLAYBOOKS
        assert first not in {"mount", "restart"} or any(int(rest[-1]) in trouble.nodes for trouble in scenario.troubles)
    assert all((ROOT / path).is_file() for path in scenario.docs)


@pytest.mark.parametrize(
    "line",
    [
        "ansible-playbook -i hosts.yml --limit east streamops.kafka_recovery.plan",
        "/opt/venv/bin/ansible-playbook -i hosts.yml --limit east streamops.kafka_recovery.plan",
        "plan -i hosts.yml --limit east",
    ],
)
def test_a_command_that_a_playbook_shows_can_be_run_as_it_is(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(Prompt, "_playbook", lambda _self, playbook, options: ran.append((playbook, options)))
    Prompt.__new__(Prompt).do_run(line)
    assert ran == [("streamops.kafka_recovery.plan", ["-i", "hosts.yml", "--limit", "east"])]


@given(ANY)
def test_the_path_of_a_disk_is_named_by_colleagues_as_soon_as_it_is_known(scenario: Scenario) -> None:
    paths = {disk: f"/disks/{number}" for number, disk in enumerate(scenario.disks)}
    placed = scenario.placed(paths)
    texts = " ".join((*placed.alert, *placed.colleagues, *placed.hints, *placed.best, *placed.why))
    assert "<disk" not in texts
    assert all(path in " ".join(placed.colleagues) for path in paths.values())
    assert set(scenario.disks) <= scenario.lost


def test_the_disk_of_a_lost_machine_is_in_the_inventory_and_has_only_what_the_player_may_see(tmp_path: Path) -> None:
    scenario = draw(1, only="lost_disk")
    (site,), ((_, broker),) = scenario.sites, scenario.disks
    topic = site.losses[0].topic
    for name in (f"{topic}-0", f"{topic}-twin-0", f"{topic}-twin-11"):
        (tmp_path / name).mkdir()
    node = SimpleNamespace(data_dir=tmp_path, log_dirs=[tmp_path])
    security = SimpleNamespace(protocol="PLAINTEXT")
    settings = SimpleNamespace(security=security)
    cluster = SimpleNamespace(name="east", brokers={broker: node}, bootstrap_servers="", controller_bootstrap_servers="", settings=settings)
    stage = Stage(scenario, {"east": cluster})  # type: ignore[dict-item]
    stage.wipe(site, [f"{topic}-twin"])
    assert [path.name for path in tmp_path.iterdir()] == [f"{topic}-0"]
    assert str(tmp_path) in stage.mount("east", broker)
    (host,) = night_inventory(stage, tmp_path)["kafka_brokers"]["hosts"].items()
    assert host == (f"east-broker-{broker}", {"kafka_cluster": "east", "kafka_broker_id": broker, "kafka_log_dirs": [str(tmp_path)]})
    assert any(host[0] in line and disk_of("east", broker) in line for line in scenario.colleagues)


def test_a_broker_with_a_failed_disk_can_be_restarted_and_its_disk_not_mounted() -> None:
    scenario = draw(1, only="failed_disk")
    (site,), ((name, broker),) = scenario.sites, scenario.failed_disks
    done: list[str] = []
    node = SimpleNamespace(name=f"broker-{broker}")
    cluster = SimpleNamespace(
        nodes={broker: node}, paused=list, is_running=lambda _node: True,
        terminate=lambda _node, seconds: done.append("stopped"), start_node=lambda _node: done.append("started"),
    )  # fmt: skip
    stage = Stage(scenario, {name: cluster})  # type: ignore[dict-item]
    assert "nothing left to mount" in stage.mount(name, broker) and not done
    assert "it is starting" in stage.restart(name, broker) and done == ["stopped", "started"]
    assert cluster_settings(site)["second_log_dir"] and not cluster_settings(NO_DISK)["second_log_dir"]


def test_every_family_has_a_loss_or_nothing_at_all_to_lose() -> None:
    stakes = {key: draw(1, only=key) for key in FAMILIES}
    harmless = {
        key
        for key, scenario in stakes.items()
        if not any(
            best > worst for site in scenario.sites for loss in site.losses for plot in loss.plots(site.roles)
            for _all, best, worst in [worth(plot, loss, site.roles)]
        )
    }  # fmt: skip
    assert harmless == {"old_alarm"}
