"""Two real clusters, side by side, and the damage that is done to them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from rig import Damage, KafkaCluster, Kept, elect_unclean
from rig.stock import Run

# scenario → partitions. Together 214 partitions without a leader, and as many again in the copies for Kafka's own tool.
EAST = {"lagging": 40, "identical": 24, "forked": 30, "no_survivor": 6, "clean_returning": 8}
WEST = {"lagging": 60, "identical": 40, "no_survivor": 6}
# Copies are worth making only where Kafka's own tool has something to choose.
COPIED = ("lagging", "identical", "forked")
HANGING = 3  # the broker of west that stops answering, in the middle of it all


@dataclass(frozen=True)
class Site:
    """One cluster and its damage."""

    cluster: KafkaCluster
    damage: Damage

    @property
    def name(self) -> str:
        return self.cluster.name

    def recovered(self) -> list[str]:
        """The topics that the collection recovers: those that have a copy for Kafka's own tool."""
        return [case.topics[0] for case in self.damage.cases if len(case.topics) > 1]

    def copies(self) -> list[str]:
        """Their copies."""
        return self.damage.topics(copy=1)

    def run_stock_tool(self) -> Run:
        """Let kafka-leader-election.sh loose on the copies."""
        return elect_unclean(self.cluster, self.damage.plots(self.copies()))

    def kept(self, topics: list[str]) -> Kept:
        """Acknowledged records of these topics, and how many of them can still be read."""
        counts = self.damage.kept(topics).values()
        return Kept(sum(count.acknowledged for count in counts), sum(count.kept for count in counts))


@contextmanager
def two_clusters(say: Callable[[str], None]) -> Iterator[list[Site]]:
    """Start east and west, damage both, and take everything down at the end, whatever happens."""
    with ExitStack() as stack, ThreadPoolExecutor(max_workers=2) as pool:
        # A silent broker of west stays unfenced for a minute: alive for the cluster, dead to every client.
        east = KafkaCluster("east", say=say, brokers=4)
        west = KafkaCluster("west", say=say, brokers=3, session_timeout=60)
        for cluster in (east, west):
            stack.callback(cluster.stop)
        list(pool.map(KafkaCluster.start, (east, west)))
        sites = [_damaged(east, EAST, abrupt=True), _damaged(west, WEST, abrupt=False)]
        list(pool.map(lambda site: site.damage.inflict(), sites))
        yield sites


def _damaged(cluster: KafkaCluster, scenarios: dict[str, int], abrupt: bool) -> Site:
    damage = Damage(cluster, abrupt=abrupt)
    for scenario, partitions in scenarios.items():
        damage.add(scenario, partitions, copies=2 if scenario in COPIED else 1)
    return Site(cluster, damage)
