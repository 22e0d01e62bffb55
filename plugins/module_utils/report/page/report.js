// Copyright (c) 2026, StreamOps. SPDX-License-Identifier: GPL-3.0-or-later
// The script of the page, after DataTables in the same module script: tables with search and paging, rows that open, and the printed list.
// Its data is the JSON in the element `data`. The script inserts it as text nodes, or escaped where DataTables expects HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const escaped = (text) => String(text).replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
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
  text: (value, type) => (type === "sort" || type === "type" ? value ?? "" : value === null ? "" : `<bdi class="${width(value)}">${escaped(value)}</bdi>`),
  number: (value, type) => (type === "sort" || type === "type" ? value ?? -1 : value === null ? "" : grouped(value)),
  bound: (value, type) => (type === "sort" || type === "type" ? value ?? -1 : value === null ? "unknown" : grouped(value)),
  outcome: (value, type) =>
    type === "sort"
      ? data.order.indexOf(value)
      : type === "display"
      ? `<span class="tag ${escaped(value)}">${escaped(data.outcomes[value] ?? value)}</span>`
      : escaped(value),
  command: (value, type) => (type === "display" && value !== null ? `<code class="command">${escaped(value)}</code>` : escaped(value ?? "")),
  hidden: (value, type) => (type === "sort" || type === "type" ? "" : escaped(value ?? "")),
};
renderers.time = (value, type) => (value === null || type === "sort" || type === "type" ? value ?? "" : escaped(value.replace("T", " ").replace("Z", " UTC")));
const NUMBERS = ["number", "bound"];

function evidence(row) {
  const box = element("div", undefined, "evidence");
  const sentences = (row.detail || "").split("; ").filter(Boolean);
  if (sentences.length) {
    const list = element("ul");
    for (const sentence of sentences) list.append(element("li", sentence));
    box.append(list);
  }
  if (row.next_step) box.append(element("p", `Next: ${row.next_step}.`));
  if (row.command) box.append(element("pre", row.command));
  if (!box.childNodes.length) box.append(element("p", "Nothing more is recorded of it."));
  return box;
}

function toggle(table, button) {
  const row = table.row(button.closest("tr"));
  const open = row.child.isShown();
  if (open) row.child.hide();
  else row.child(evidence(named(data.tables[table.table().node().dataset.table], row.data()))).show();
  button.setAttribute("aria-expanded", String(!open));
  button.textContent = open ? "+" : "\u2212";
}

const named = (source, values) => Object.fromEntries(source.columns.map((column, place) => [column.key, values[place]]));

function build(node) {
  const source = data.tables[node.dataset.table];
  const opens = source.columns.some((column) => column.key === "detail");
  const columns = source.columns.map((column, place) => ({
    title: escaped(column.title),
    data: place,
    type: NUMBERS.includes(column.kind) ? "num" : "string",
    visible: column.kind !== "hidden",
    className: NUMBERS.includes(column.kind) ? "n" : column.kind,
    render: (value, type) => renderers[column.kind](value, type),
  }));
  if (opens) {
    const label = (row) => escaped(`Evidence of ${row[1]}-${row[2]} in ${row[0]}`);
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
    pageLength: 25,
    lengthMenu: [10, 25, 100, 500],
    paging: !small,
    layout: small
      ? { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null }
      : { topStart: "search", topEnd: "pageLength", bottomStart: "info", bottomEnd: "paging" },
    language: { search: "Search", lengthMenu: "_MENU_ rows", emptyTable: "Nothing to show", zeroRecords: "Nothing fits this search" },
    createdRow: (line) => {
      [...line.cells].forEach((cell, place) => {
        if (place || !opens) cell.dataset.label = labels[place];
      });
    },
  });
  if (opens) {
    node.addEventListener("click", (event) => {
      const button = event.target.closest("button.more");
      if (button) toggle(table, button);
    });
  }
  const filter = document.querySelector(`[data-filters="${node.dataset.table}"]`);
  if (filter) {
    const place = source.columns.findIndex((column) => column.key === filter.dataset.column) + Number(opens);
    filter.addEventListener("change", () => table.column(place).search(filter.value, { exact: filter.value !== "" }).draw());
  }
}

function onPaper() {
  const box = document.getElementById("paper");
  if (!box) return;
  const source = data.tables.partitions;
  box.replaceChildren();
  for (const values of source.rows) {
    const row = named(source, values);
    if (!data.without_leader.includes(row.outcome)) continue;
    const entry = element("div", undefined, "entry");
    entry.append(element("strong", `${row.cluster}: ${row.topic}-${row.partition}, ${data.outcomes[row.outcome]}${row.why ? ` (${row.why})` : ""}`));
    entry.append(evidence(row));
    box.append(entry);
  }
}

DataTable.ext.errMode = "throw";
for (const node of document.querySelectorAll("table[data-table]")) build(node);
addEventListener("beforeprint", onPaper);
addEventListener("afterprint", () => document.getElementById("paper")?.replaceChildren());
document.documentElement.dataset.ready = "true";
