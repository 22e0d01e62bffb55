# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small drawings as SVG: boxes, words and arrows, to be read by day and by night (prefers-color-scheme) and on a phone."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

CELL = 34
LABEL = 96  # where cells begin
STYLE = """
  svg { color-scheme: light dark; --paper: #fff; --ink: #1c2733; --soft: #5a6875; --edge: #8a97a3; --line: #c9d1d8;
        --same: #d5e5f6; --other: #fbe3b6; --gone: #f2f3f5; --good: #d3efd6; --bad: #f8d5d3; --mark: #b4261d; --best: #1a7f37; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #161b22; --ink: #e6edf3; --soft: #a4b0bb; --edge: #7d8994; --line: #3a444e;
          --same: #1f3f63; --other: #5f4712; --gone: #20262d; --good: #1d4526; --bad: #5c2522; --mark: #ff8f87; --best: #6fdd8b; }
  }
  text { font: 15px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--ink); }
  .paper { fill: var(--paper); stroke: var(--line); } .soft { fill: var(--soft); font-size: 14px; } .strong { font-weight: 600; }
  .number { font-size: 14px; text-anchor: middle; } .mark { fill: var(--mark); } .best { fill: var(--best); }
  .middle { text-anchor: middle; } .end { text-anchor: end; }
  .box { stroke: var(--edge); } .same { fill: var(--same); } .other { fill: var(--other); } .gone { fill: var(--gone); stroke-dasharray: 3 3; }
  .good { fill: var(--good); } .bad { fill: var(--bad); } .plain { fill: var(--paper); }
  .stroke { fill: none; stroke: var(--edge); stroke-width: 1.5; } .cut { fill: none; stroke: var(--mark); stroke-width: 2; } .dash { stroke-dasharray: 5 4; }
  .win { fill: none; stroke: var(--best); stroke-width: 2; }
"""


@dataclass
class Sheet:
    """One drawing. Places are in pixels, y is where a text stands or a box begins."""

    title: str
    description: str
    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, words: str, look: str = "") -> None:
        """A line of words; looks are the classes of STYLE."""
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{_class(look)}>{escape(words, quote=False)}</text>')

    def box(self, x: float, y: float, width: float, height: float, look: str = "plain", corner: int = 3) -> None:
        """A rectangle."""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{corner}"{_class(f"box {look}")}/>')

    def path(self, drawn: str, look: str = "stroke", arrow: bool = False) -> None:
        """Lines."""
        end = ' marker-end="url(#arrow)"' if arrow else ""
        self.parts.append(f'<path d="{drawn}"{_class(look)}{end}/>')

    def said(self, x: float, y: float, width: float, height: float, lines: list[str], look: str = "plain") -> None:
        """A box with words in its middle; the first line is the strong one."""
        self.box(x, y, width, height, look, 8)
        top = y + height / 2 - 9.5 * (len(lines) - 1) + 5
        for number, line in enumerate(lines):
            self.text(x + width / 2, top + 19 * number, line, "middle soft" if number else "middle strong")

    def offsets(self, y: float, count: int, name: str = "offset") -> None:
        """Numbers over the cells of logs."""
        self.text(LABEL - 10, y, name, "soft end")
        for offset in range(count):
            self.text(LABEL + CELL * (offset + 0.5), y, str(offset), "number soft")

    def log(self, y: float, name: str, epochs: tuple[int, ...], looks: tuple[str, ...]) -> None:
        """A replica's log: a cell for each record with the leader epoch in which it was written."""
        self.text(LABEL - 10, y + 22, name, "end strong")
        for offset, (epoch, look) in enumerate(zip(epochs, looks, strict=True)):
            self.box(LABEL + CELL * offset, y, CELL, CELL - 2, look)
            self.text(LABEL + CELL * (offset + 0.5), y + 21, "?" if epoch < 0 else str(epoch), "number")

    def cut(self, offset: int, top: float, bottom: float, look: str = "cut dash") -> None:
        """A line before an offset, through the logs."""
        x = LABEL + CELL * offset
        self.path(f"M{x:g} {top:g}V{bottom:g}", look)

    def svg(self) -> str:
        """The file."""
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        arrow = '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title description">',
            f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="description">{escape(self.description)}</desc>',
            f"<style>{STYLE}</style>",
            f'<defs>{arrow}<path d="M0 0L8 4L0 8z" style="fill: var(--edge)"/></marker></defs>',
            f'<rect class="paper" x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="8"/>',
            *self.parts,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def _class(look: str) -> str:
    return f' class="{look.strip()}"' if look.strip() else ""
