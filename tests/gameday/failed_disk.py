"""Damage by one disk of two: its broker lives, and leads what is on the other one."""

from __future__ import annotations

from gameday.groups import NightDamage


class FailedDiskDamage(NightDamage):
    """The log directory fails, and not its broker. Topics that stay online are on the other one."""

    def _create_topics(self) -> None:
        super()._create_topics()
        (broker_id,) = self.roles.lost
        good, failing = self.cluster.brokers[broker_id].log_dirs
        plots = self.plots()
        self.cluster.move_logs(broker_id, good, [key for key, plot in plots.items() if plot.online])
        self.cluster.move_logs(broker_id, failing, [key for key, plot in plots.items() if not plot.online])

    def _lose(self) -> None:
        (broker_id,) = self.roles.lost
        self.cluster.say(f"a disk of broker {broker_id} fails")
        self.cluster.fail_second_log_dir(broker_id)
        offline = {topic for (topic, _number), plot in self.plots().items() if not plot.online}
        self.cluster.wait_for_partitions(offline, lambda state: state.leader < 0, "without a leader")
