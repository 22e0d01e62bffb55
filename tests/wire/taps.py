"""Taps: proxies in front of controllers that hand on whole answers, changed on their way."""

from rig.gateway_frames import Request, framed, read_frame
from rig.gateway_rules import Change
from rig.proxy import End, Proxies, Way


class Taps(Proxies):
    """`change` as in the rules of a gateway; tests set it while the taps run."""

    def __init__(self, ports: dict[int, tuple[int, int]], change: Change) -> None:
        self.change = change
        super().__init__(ports)

    async def _exchange(self, node: int, _way: Way, client: End, controller: End) -> None:
        reader, writer = client
        try:
            while frame := await read_frame(reader):
                controller[1].write(framed(frame))
                answer = await read_frame(controller[0])
                if answer is None:
                    return
                changed = self.change(node, Request.parse(frame), framed(answer))
                writer.write(changed)
                await writer.drain()
                if int.from_bytes(changed[:4], "big", signed=True) != len(changed) - 4:
                    return
        except OSError:
            return
