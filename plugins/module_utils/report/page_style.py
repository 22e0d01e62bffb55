# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The style sheet of the report page: light and dark, paper, and a phone. System fonts only, nothing is fetched."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --text: #1b1f24; --quiet: #5a6472; --line: #d9dee5; --soft: #eef1f5; --link: #0b57b7;
  --bad: #b3261e; --bad-soft: #fdecea; --wait: #8a5300; --wait-soft: #fff4dd; --good: #1c6b36; --good-soft: #e6f4ea;
  --c-bad: #c9372c; --c-stale: #8e5bb5; --c-held: #d98208; --c-planned: #c9a400; --c-clean: #2f8f9d; --c-good: #2e8b4f; --c-calm: #9aa5b1; --c-risk: #d98208;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --card: #1c2026; --text: #e6e9ed; --quiet: #a3adba; --line: #343b45; --soft: #262c34; --link: #8ab8ff;
    --bad: #ff8f86; --bad-soft: #3a1e1d; --wait: #f5be62; --wait-soft: #37290f; --good: #7fd69a; --good-soft: #17311f;
    --c-bad: #f0685e; --c-stale: #b98be0; --c-held: #e9a23b; --c-planned: #d9c04a; --c-clean: #56b6c2; --c-good: #57b878; --c-calm: #6b7683; --c-risk: #e9a23b;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.55 system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif; }
.wide { max-width: 74rem; margin: 0 auto; padding: 0 1.25rem; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: .3rem 0 .6rem; font-weight: 650; text-wrap: balance; }
h2 { font-size: 1.2rem; margin: 0 0 .75rem; font-weight: 650; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; font-weight: 650; }
p { margin: 0 0 .75rem; max-width: 70ch; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
.quiet, figcaption { color: var(--quiet); }
.skip { position: absolute; left: -100rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
td.open { width: 3rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem 1rem; z-index: 2; }
.verdict { border-top: 6px solid var(--mark); background: var(--mark-soft); padding: 1.4rem 0 1.2rem; border-bottom: 1px solid var(--line); }
.verdict .state { color: var(--mark); font-weight: 700; margin: 0; }
.verdict .next { font-size: 1.08rem; max-width: 80ch; }
.verdict .facts { color: var(--quiet); font-size: .9rem; margin: 0; max-width: none; }
.offline { --mark: var(--bad); --mark-soft: var(--bad-soft); }
.planned, .dry_run, .at_risk { --mark: var(--wait); --mark-soft: var(--wait-soft); }
.recovered, .calm { --mark: var(--good); --mark-soft: var(--good-soft); }
.unknown { --mark: var(--quiet); --mark-soft: var(--soft); }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: 0; padding: .8rem 0; font-size: .95rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.25rem; margin: 0 0 1.25rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(12.5rem, 1fr)); gap: 1rem; margin: 0 0 1.25rem; }
.tiles > div { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .9rem 1.1rem; }
.tiles dt { color: var(--quiet); font-size: .9rem; }
.tiles dd { margin: 0; font-size: 1.6rem; font-weight: 650; line-height: 1.3; font-variant-numeric: tabular-nums; }
.tiles dd.note { font-size: .88rem; font-weight: 400; line-height: 1.45; color: var(--quiet); }
.steps { list-style: none; margin: 0; padding: 0; }
.steps > li { border-left: 4px solid var(--c-held); padding: .1rem 0 .1rem 1rem; margin: 0 0 1.2rem; }
.steps > li:last-child { margin-bottom: 0; }
.steps p { margin: 0 0 .4rem; max-width: 85ch; }
pre, code { font: .88rem/1.5 ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace; }
pre {
  background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; margin: .4rem 0; white-space: pre-wrap;
  overflow-wrap: anywhere; user-select: all; }
dd, li, h1, p { overflow-wrap: anywhere; }
td { overflow-wrap: break-word; }
td bdi.long { overflow-wrap: anywhere; display: inline-block; min-width: min(14rem, 100%); max-width: 32rem; }
td.time { white-space: nowrap; }
code.command { display: block; min-width: min(22rem, 100%); white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; padding: .45rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--quiet); font-weight: 600; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
td.none { color: var(--quiet); }
.tag { display: inline-block; padding: .05rem .5rem; border-radius: 999px; border: 1px solid currentColor; font-size: .84rem; white-space: nowrap; }
.tag.failed, .tag.stale { color: var(--bad); background: var(--bad-soft); }
.tag.held, .tag.planned { color: var(--wait); background: var(--wait-soft); }
.tag.elected, .tag.clean_leader { color: var(--good); background: var(--good-soft); }
.tag.already_online { color: var(--quiet); }
figure { margin: 0 0 1rem; }
figcaption ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: .2rem 0 0; padding: 0; font-size: .88rem; }
.swatch { display: inline-block; width: .8rem; height: .8rem; border-radius: 3px; margin-right: .4rem; vertical-align: -1px; background: var(--own); }
.pygal-chart { width: 100%; max-width: 60rem; height: auto; display: block; }
.pygal-chart .background { fill: none; }
.pygal-chart text { fill: var(--quiet); font: 12px system-ui, "Liberation Sans", sans-serif; }
.pygal-chart .axis.x text { text-anchor: middle; }
.pygal-chart .axis.y text { text-anchor: end; }
.pygal-chart .line, .pygal-chart .guide.line { stroke: var(--line); fill: none; }
.pygal-chart .axis.x .guide.line { stroke: none; }
.pygal-chart.horizontal .axis.x .guide.line, .pygal-chart .horizontal .axis.x .guide.line { stroke: var(--line); }
.pygal-chart .horizontal .axis.y .guide.line { stroke: none; }
.pygal-chart .rect, .pygal-chart .dot { fill: var(--own); }
.pygal-chart .series .line { stroke: var(--own); stroke-width: 2.5; fill: none; }
.of-failed { --own: var(--c-bad); } .of-stale { --own: var(--c-stale); } .of-held { --own: var(--c-held); } .of-planned { --own: var(--c-planned); }
.of-clean_leader { --own: var(--c-clean); } .of-elected { --own: var(--c-good); } .of-already_online { --own: var(--c-calm); }
.of-offline { --own: var(--c-bad); } .of-one_failure, .of-partitions { --own: var(--c-risk); } .of-before { --own: var(--c-calm); }
.dt-layout-row { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: .5rem 1rem; margin: .5rem 0; }
.dt-layout-row.dt-layout-table { display: block; overflow-x: auto; }
.dt-container input, .dt-container select, .filter select {
  font: inherit; color: inherit; background: var(--card); border: 1px solid var(--quiet); border-radius: 6px; padding: .35rem .55rem; min-height: 2.4rem; }
.dt-search input { width: min(20rem, 60vw); margin-left: .5rem; }
.dt-paging nav { display: flex; flex-wrap: wrap; gap: .25rem; }
.dt-paging button {
  font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .3rem .7rem;
  min-height: 2.4rem; cursor: pointer; }
.dt-paging button.current { background: var(--soft); border-color: var(--quiet); font-weight: 650; }
.dt-paging button.disabled { color: var(--quiet); cursor: default; opacity: .55; }
.dt-info { color: var(--quiet); font-size: .9rem; }
.steps + p { margin-top: 1rem; }
table.dataTable td { vertical-align: middle; }
table.dataTable thead th { cursor: pointer; vertical-align: bottom; }
.dt-column-header { display: inline-flex; gap: .35rem; align-items: baseline; }
.dt-column-order::after { content: "\\2195"; opacity: .35; }
.dt-ordering-asc .dt-column-order::after { content: "\\2191"; opacity: 1; }
.dt-ordering-desc .dt-column-order::after { content: "\\2193"; opacity: 1; }
.dt-orderable-none .dt-column-order::after { content: none; }
.dt-orderable-none { cursor: default !important; }
button.more {
  font: inherit; line-height: 1; color: var(--link); background: none; border: 1px solid var(--line); border-radius: 6px;
  min-width: 2.2rem; min-height: 2.2rem; cursor: pointer; }
.evidence { max-width: 80ch; padding: .3rem 0 .5rem; }
.evidence ul { margin: .2rem 0 .6rem; padding-left: 1.2rem; }
.evidence p { margin: .2rem 0; }
.on-paper { display: none; }
.terms dt { font-weight: 600; }
.terms dd { margin: 0 0 .5rem; }
footer { color: var(--quiet); font-size: .88rem; padding: 0 0 2rem; }
@media screen and (max-width: 46rem) {
  .wide { padding: 0 .8rem; }
  h1 { font-size: 1.4rem; }
  section { padding: 1rem .9rem; }
  table.cards thead { display: none; }
  table.cards, table.cards tbody, table.cards tr, table.cards td { display: block; width: 100% !important; }
  table.cards tr { border: 1px solid var(--line); border-radius: 8px; margin: 0 0 .7rem; padding: .3rem 0; }
  table.cards td { border: 0; padding: .2rem .8rem; text-align: left !important; }
  table.cards td:empty { display: none; }
  table.cards td[data-label]::before { content: attr(data-label) ": "; color: var(--quiet); }
}
@media print {
  :root { --page: #fff; --card: #fff; --text: #000; --quiet: #444; --line: #bbb; --soft: #f4f4f4; --link: #000;
    --bad: #8c1d17; --bad-soft: #fff; --wait: #6d4200; --wait-soft: #fff; --good: #14522a; --good-soft: #fff;
    --c-bad: #c9372c; --c-held: #d98208; --c-good: #2e8b4f; --c-calm: #9aa5b1; --c-risk: #d98208; }
  body { font-size: 10.5pt; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  .wide { max-width: none; padding: 0; }
  nav, .skip, .on-screen, .filter, #partitions .dt-container, .dt-layout-row:not(.dt-layout-table), .dt-column-order { display: none !important; }
  .on-paper { display: block; }
  section, .tiles > div { border: 0; border-top: 1px solid var(--line); border-radius: 0; padding: .6rem 0; margin: 0 0 .4rem; }
  h2, h3 { break-after: avoid; }
  tr, figure, .steps > li, .entry { break-inside: avoid; }
  .tiles { grid-template-columns: repeat(4, 1fr); }
  .entry { border-top: 1px solid var(--line); padding: .35rem 0; }
  .entry p { margin: .1rem 0; max-width: none; }
  pre { border: 0; padding: .2rem .4rem; }
}
"""
