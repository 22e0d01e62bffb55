"""Network partitions between controllers: each pair of them has a proxy of its own in each direction, and they know no other way.

Every controller is advertised under a name. What that name means is a hosts file of the JVM that looks it up (`jdk.net.hosts.file`): for
another controller the loopback address of the proxy between the two, for itself and for brokers the controller's own address.
"""

from collections.abc import Mapping

from rig.config import HOST, Node
from rig.proxy import Mode, Proxies


class ControllerNetwork:
    """The proxies between the controllers of one cluster."""

    def __init__(self, controllers: Mapping[int, Node]) -> None:
        self._nodes = list(controllers)
        self._pairs = {(one, other): number for number, (one, other) in enumerate(self._all_pairs())}
        ports = {number: (controllers[other].port, controllers[other].port) for (_one, other), number in self._pairs.items()}
        self._proxies = Proxies(ports, {number: self._address(one, other) for (one, other), number in self._pairs.items()})

    def cut(self, *nodes: int) -> None:
        """Let nothing pass between these controllers and the others, in either direction: no packet, and no end of a connection."""
        apart = {number for (one, other), number in self._pairs.items() if (one in nodes) != (other in nodes)}
        self._proxies.set(Mode.BLACK_HOLE, apart)

    def heal(self) -> None:
        """Connections that stood during a partition are reset, as by a peer that has forgotten them, and everything passes again."""
        self._proxies.set(Mode.CUT)
        self._proxies.set(Mode.PASS)

    def close(self) -> None:
        self._proxies.close()

    def jvm_options(self, node: Node) -> list[str]:
        """What makes a node find the controllers, with its hosts file written."""
        path = node.directory / "hosts"
        path.write_text("".join(f"{self._address(node.node_id, other)} {name(other)}\n" for other in self._nodes) + f"{HOST} localhost\n")
        return [f"-Djdk.net.hosts.file={path}"]

    def _address(self, one: int, other: int) -> str:
        """Where `one` reaches `other`."""
        if one == other or one not in self._nodes:
            return HOST
        return f"127.0.{self._nodes.index(one) + 1}.{self._nodes.index(other) + 1}"

    def _all_pairs(self) -> list[tuple[int, int]]:
        return [(one, other) for one in self._nodes for other in self._nodes if one != other]


def name(controller: int) -> str:
    """The host name of a controller."""
    return f"controller-{controller}"


def advertised(controllers: Mapping[int, Node]) -> dict[str, object]:
    """The properties of every node with which controllers know each other by name."""
    return {"controller.quorum.voters": ",".join(f"{node_id}@{name(node_id)}:{node.port}" for node_id, node in controllers.items())}
