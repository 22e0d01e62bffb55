// Copyright (c) 2026, StreamOps. SPDX-License-Identifier: GPL-3.0-or-later
// The script of the page, after DataTables in the same module script: tables with search and paging, rows that open, links to partitions, buttons that copy
// a command, and the printed list.
// Its data is the JSON in the element `data`. The script inserts it as text nodes, or escaped where DataTables expects HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const escaped = (text) => String(text).replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
const spaced = (code) => code.replaceAll("_", " ");
const grouped = (value) => value.toLocaleString("en-US");
// Only text that is too long for a column is broken.
const width = (value) => (/\S{33}/.test(value) ? "long" : "");
const element = (name, text, className) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
};

// DataTables treats displayed and searched values as HTML. Sorted values are not changed.
const renderers = {
  text: (
    value,
    type,
  ) => (type === "sort" || type === "type" ? value ?? "" : value === null || value === "" ? "" : `<bdi class="${width(value)}">${escaped(value)}</bdi>`),
  number: (value, type) => (type === "sort" || type === "type" ? value ?? -1 : value === null ? "" : grouped(value)),
  bound: (value, type) => (type === "sort" || type === "type" ? value ?? -1 : value === null ? "unknown" : grouped(value)),
  outcome: (value, type) =>
    type === "sort"
      ? data.order.indexOf(value)
      : type === "display"
      ? `<span class="${data.without_leader.includes(value) ? `tag ${escaped(value)}` : "sound"}">${escaped(data.outcomes[value] ?? value)}</span>`
      : escaped(value),
  // The number of a partition, as a link to its row.
  place: (value, type, row, anchor) =>
    type === "sort" || type === "type" ? value ?? -1 : type === "display" ? `<a href="#${escaped(row[anchor])}">${grouped(value)}</a>` : grouped(value),
  // A code, as a link to its meaning. One that the page does not know is a text.
  term: (value, type) => {
    const text = escaped(spaced(value ?? ""));
    const known = type === "display" && Object.hasOwn(data.terms, value ?? "");
    return known ? `<a class="term" href="#${escaped(data.terms[value])}">${text}</a>` : text && `<bdi class="${width(value)}">${text}</bdi>`;
  },
  // A count of what is wrong. None is an empty cell.
  problem: (value, type) =>
    type === "sort" || type === "type"
      ? value ?? -1
      : value === null
      ? "unknown"
      : value === 0
      ? ""
      : type === "display"
      ? `<strong>${grouped(value)}</strong>`
      : grouped(value),
  command: (value, type) =>
    type === "display" && value !== null
      ? `<div class="copyable"><code class="command">${escaped(value)}</code><button type="button" class="copy">Copy</button></div>`
      : escaped(value ?? ""),
  hidden: (value, type) => (type === "sort" || type === "type" ? "" : escaped(value ?? "")),
};
renderers.time = (value, type) => (value === null || type === "sort" || type === "type" ? value ?? "" : escaped(value.replace("T", " ").replace("Z", " UTC")));
renderers.prose = renderers.text;
const NUMBERS = ["number", "bound", "place", "problem"];
const narrow = matchMedia("(max-width: 46rem)");

// A command with its button. What it copies is the text that is shown.
function copyable(line) {
  const box = element("div", undefined, "copyable");
  box.append(element("pre", line), copyButton());
  return box;
}

function copyButton() {
  const button = element("button", "Copy", "copy");
  button.type = "button";
  return button;
}

function say(text) {
  document.getElementById("status").textContent = text;
}

async function copy(button) {
  const source = button.previousElementSibling;
  let said = "Copied";
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    // Browsers have no clipboard on pages that came without TLS. Then the command is selected.
    getSelection().selectAllChildren(source);
    said = document.execCommand("copy") ? "Copied" : "Selected";
  }
  button.textContent = said;
  say(said === "Copied" ? "The command is copied." : "The command is selected. Copy it with Ctrl+C.");
  setTimeout(() => {
    button.textContent = "Copy";
  }, 2000);
}

function evidence(row) {
  const box = element("div", undefined, "evidence");
  const sentences = (row.detail || "").split("; ").filter(Boolean);
  if (sentences.length) {
    const list = element("ul");
    for (const sentence of sentences) list.append(element("li", sentence));
    box.append(list);
  }
  if (row.estimate !== null && row.estimate !== undefined) box.append(element("p", `Estimate of lost records: ${grouped(row.estimate)}.`));
  if (row.next_step) box.append(element("p", `Next: ${row.next_step}.`));
  if (row.command) box.append(copyable(row.command));
  if (!box.childNodes.length) box.append(element("p", "Nothing more is recorded of it."));
  return box;
}

function toggle(table, source, row) {
  const open = row.child.isShown();
  if (open) {
    row.child.hide();
  } else {
    const values = named(source, row.data());
    const topic = source.opens === "topic";
    row.child(topic ? partitionsOf(values, source.inside) : evidence(values)).show();
    if (topic) fit(row.child()[0].querySelector("table"));
  }
  const button = row.node().querySelector("button.more");
  button.setAttribute("aria-expanded", String(!open));
  button.textContent = open ? "+" : "\u2212";
  fit(table.table().node());
}

// The table of one topic's partitions.
function partitionsOf(topic, inside) {
  const box = element("div");
  const source = data.tables[inside];
  const [cluster, name] = ["cluster", "topic"].map((key) => source.columns.findIndex((column) => column.key === key));
  const rows = source.rows.filter((row) => row[cluster] === topic.cluster && row[name] === topic.topic);
  if (rows.length < topic.partitions) box.append(element("p", `The page has ${grouped(rows.length)} of its ${grouped(topic.partitions)} partitions.`, "quiet"));
  if (!rows.length) return box;
  const node = element("table");
  node.setAttribute("aria-label", `Partitions of ${topic.topic} in ${topic.cluster}`);
  box.append(node);
  // Cluster and topic stand in the row above.
  const columns = source.columns.map((column) => (["cluster", "topic"].includes(column.key) ? { ...column, kind: "hidden" } : column));
  build(node, { columns, rows, opens: OPENS[inside] });
  return box;
}

const named = (source, values) => Object.fromEntries(source.columns.map((column, place) => [column.key, values[place]]));

function build(node, source) {
  const opens = Boolean(source.opens);
  const anchor = source.columns.findIndex((column) => column.key === "anchor");
  const columns = source.columns.map((column, place) => ({
    title: escaped(column.title),
    data: place,
    type: NUMBERS.includes(column.kind) ? "num" : "string",
    visible: column.kind !== "hidden",
    className: column.kind === "problem" ? "problem" : NUMBERS.includes(column.kind) ? "n" : column.kind,
    render: (value, type, row) => renderers[column.kind](value, type, row, anchor),
  }));
  if (opens) {
    const label = (row) => escaped(source.opens === "topic" ? `Partitions of ${row[1]} in ${row[0]}` : `Evidence of ${row[1]}-${row[2]} in ${row[0]}`);
    const render = (_value, type, row) =>
      type === "display" ? `<button type="button" class="more" aria-expanded="false" aria-label="${label(row)}">+</button>` : "";
    columns.unshift({ title: '<span class="unseen">Open</span>', data: null, orderable: false, searchable: false, className: "open", render });
  }
  const labels = columns.filter((column) => column.visible !== false).map((column) => column.title);
  const small = source.rows.length <= 10;
  const table = new DataTable(node, {
    data: source.rows,
    columns,
    order: [],
    autoWidth: false,
    pageLength: narrow.matches ? 10 : 25,
    lengthMenu: [10, 25, 100, 500],
    paging: !small,
    layout: small
      ? { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null }
      : { topStart: "search", topEnd: "pageLength", bottomStart: "info", bottomEnd: "paging" },
    language: { search: "Search", lengthMenu: "_MENU_ rows", emptyTable: "Nothing to show", zeroRecords: "Nothing fits this search" },
    createdRow: (line, row) => {
      // Only the table of all partitions has their ids. A topic shows some of them once more.
      if (node.dataset.table === "partitions") line.id = row[anchor];
      [...line.cells].forEach((cell, place) => {
        if (place || !opens) cell.dataset.label = labels[place];
      });
    },
  });
  if (opens) {
    node.addEventListener("click", (event) => {
      const button = event.target.closest("button.more");
      // A table within an opened row has buttons of its own.
      if (button?.closest("table") === node) toggle(table, source, table.row(button.closest("tr")));
    });
  }
  const filter = document.querySelector(`[data-filters="${node.dataset.table}"]`);
  if (filter) {
    const place = source.columns.findIndex((column) => column.key === filter.dataset.column) + Number(opens);
    filter.addEventListener("change", () => table.column(place).search(filter.value, { exact: filter.value !== "" }).draw());
  }
  table.on("draw", () => fit(node));
  return table;
}

// Show rows as cards if the table is wider than its place: nothing is cut, and nothing scrolls sideways.
function fit(node) {
  node.classList.remove("as-cards");
  const place = node.closest(".dt-container");
  node.classList.toggle("as-cards", narrow.matches || node.scrollWidth > place.clientWidth + 1);
}

function fitAll() {
  for (const node of document.querySelectorAll("table.dataTable")) fit(node);
}

// Lead to the place that the address names: a partition of any page of the table, or a section that is closed.
function reveal() {
  const name = location.hash.slice(1);
  if (!name) return;
  if (name.startsWith("partition/")) return revealPartition(name);
  const target = document.getElementById(name);
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  target?.querySelector(":scope > details")?.setAttribute("open", "");
  target?.scrollIntoView();
}

function revealPartition(name) {
  const { table, source } = built.partitions ?? {};
  const anchor = source?.columns.findIndex((column) => column.key === "anchor");
  const index = source?.rows.findIndex((row) => row[anchor] === name) ?? -1;
  if (index < 0) return say("This page has no such partition.");
  document.getElementById("partitions").querySelector("details").open = true;
  document.querySelector("[data-filters=partitions]").value = "";
  table.search("").columns().search("");
  const place = table.rows({ order: "applied", search: "none" }).indexes().toArray().indexOf(index);
  table.page(Math.floor(place / table.page.len())).draw("page");
  const row = table.row(index);
  if (!row.child.isShown()) toggle(table, source, row);
  document.querySelector("tr.linked")?.classList.remove("linked");
  row.node().classList.add("linked");
  row.node().scrollIntoView({ block: "center", behavior: "instant" });
  row.node().querySelector("button.more").focus({ preventScroll: true });
}

function onPaper() {
  const box = document.getElementById("paper");
  if (!box) return;
  const source = data.tables.partitions;
  box.replaceChildren();
  for (const values of source.rows) {
    const row = named(source, values);
    if (!data.without_leader.includes(row.outcome) || row.online_at) continue;
    const entry = element("div", undefined, "entry");
    entry.append(
      element(
        "strong",
        `${row.cluster}: ${row.topic}-${row.partition}, ${data.outcomes[row.outcome]}${
          row.reason_code || row.evidence ? ` (${spaced(row.reason_code || row.evidence)})` : ""
        }`,
      ),
    );
    entry.append(evidence(row));
    box.append(entry);
  }
}

DataTable.ext.errMode = "throw";
// What rows open to: evidence, or the rows of another table.
const OPENS = { partitions: "partition", topics: "topic", lost_records: "topic" };
const INSIDE = { topics: "partitions", lost_records: "lost_partitions" };
const built = {};
for (const node of document.querySelectorAll("table[data-table]")) {
  const name = node.dataset.table;
  const source = { ...data.tables[name], opens: OPENS[name], inside: INSIDE[name] };
  built[name] = { table: build(node, source), source };
}
for (const line of document.querySelectorAll(".copyable > pre")) line.after(copyButton());
document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  if (button) copy(button);
});
// The sections after the answers are closed on a phone, where they would be many screens long.
const rest = [...document.querySelectorAll("section > details")];
if (narrow.matches) { for (const part of rest) part.open = false; }
for (const words of document.querySelectorAll("details.words")) words.open = narrow.matches;
for (const part of rest) part.addEventListener("toggle", fitAll);
fitAll();
addEventListener("resize", fitAll);
addEventListener("hashchange", reveal);
// A link to the present address changes nothing, so it has no hashchange.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (link && link.hash === location.hash) reveal();
});
reveal();
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("main details")].filter((part) => !part.open);
  for (const part of closed) part.open = true;
  onPaper();
});
addEventListener("afterprint", () => {
  for (const part of closed) part.open = false;
  document.getElementById("paper")?.replaceChildren();
});
document.documentElement.dataset.ready = "true";
