// SPDX-License-Identifier: Apache-2.0
// Tables that can be sorted by a press on a column's head and narrowed by words. What the reader chose is kept through
// updates of the page and is part of the address, so that a link shows the same.
"use strict";

const tables = (() => {
  const kMinToFilter = 8; // rows: fewer are seen at a glance
  const kMark = "table.";

  const caption = (box) => box.querySelector("caption")?.textContent ?? "";
  const heads = (table) => [...table.tHead.rows[0].cells].filter((cell) => !cell.matches(".more"));
  const rows = (table) => [...table.tBodies[0].rows].filter((row) => !row.matches(".details"));

  /** What was chosen for a table: {sort: heading, down: bool, words: text}. */
  const state = new Map();

  function readAddress() {
    for (const [key, value] of address.choices()) {
      if (!key.startsWith(kMark)) continue;
      const [sort = "", down = "", words = ""] = value.split("|");
      state.set(key.slice(kMark.length), { sort, down: down === "down", words });
    }
  }

  function writeAddress() {
    const all = new URLSearchParams([...address.choices()].filter(([key]) => !key.startsWith(kMark)));
    for (const [name, chosen] of state) {
      if (chosen.sort || chosen.words) all.set(kMark + name, [chosen.sort, chosen.down ? "down" : "up", chosen.words].join("|"));
    }
    address.write(all);
  }

  /** A link to a part of this page has no choices, and keeps those that are in force; one that has some brings them. */
  function follow() {
    if (![...address.choices().keys()].some((key) => key.startsWith(kMark))) return writeAddress();
    state.clear();
    readAddress();
    for (const box of document.querySelectorAll(".table[data-sortable]")) {
      const field = box.querySelector(".filter input");
      if (field) field.value = state.get(caption(box))?.words ?? "";
      apply(box);
    }
  }

  /** Numbers as numbers, behind them texts, behind them what is not known. */
  function compare(left, right) {
    const unknown = (text) => text === "–" || text === "";
    if (unknown(left) || unknown(right)) return unknown(left) - unknown(right);
    const a = Number(left.replaceAll(",", "")), b = Number(right.replaceAll(",", ""));
    if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
    return left.localeCompare(right, "en", { numeric: true });
  }

  const kSizes = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

  /** The text that decides the place of a row: sizes as bytes, all else as it is shown. */
  function keyOf(cell) {
    const text = cell?.textContent.trim() ?? "";
    const size = /^([\d.,]+) ([KMGT]?i?B)$/.exec(text);
    return size && kSizes[size[2]] ? String(Number(size[1].replaceAll(",", "")) * kSizes[size[2]]) : text;
  }

  function sort(table, chosen) {
    const column = heads(table).findIndex((head) => head.dataset.name === chosen.sort);
    heads(table).forEach((head, i) => {
      if (i === column) head.setAttribute("aria-sort", chosen.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const list = rows(table);
    list.forEach((row, i) => (row.dataset.place ??= i));
    const keys = new Map(list.map((row) => [row, keyOf(row.cells[column])]));
    const order = (a, b) => {
      const known = compare(keys.get(a), keys.get(b));
      const unknownLast = ["–", ""].includes(keys.get(a)) || ["–", ""].includes(keys.get(b));
      return (chosen.down && !unknownLast ? -known : known) || a.dataset.place - b.dataset.place;
    };
    list.sort(column < 0 ? (a, b) => a.dataset.place - b.dataset.place : order);
    table.tBodies[0].append(...list);
  }

  function filter(box, table, chosen) {
    const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows(table)) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    const count = box.querySelector(".count");
    if (count) count.textContent = words.length ? `${shown} of ${rows(table).length} rows` : `${rows(table).length} rows`;
  }

  function apply(box) {
    const table = box.querySelector("table"), chosen = state.get(caption(box)) ?? { sort: "", down: false, words: "" };
    folding.close(table);
    sort(table, chosen);
    filter(box, table, chosen);
  }

  function choose(box, change) {
    const name = caption(box);
    state.set(name, { sort: "", down: false, words: "", ...state.get(name), ...change });
    apply(box);
    writeAddress();
  }

  /** A press sorts up, a second one down, a third one as it was. */
  function press(box, name) {
    const chosen = state.get(caption(box));
    if (chosen?.sort !== name) choose(box, { sort: name, down: false });
    else choose(box, chosen.down ? { sort: "", down: false } : { down: true });
  }

  function addButtons(box, table) {
    for (const head of heads(table)) {
      head.dataset.name = head.textContent;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.textContent = head.textContent;
      button.addEventListener("click", () => press(box, head.dataset.name));
      head.replaceChildren(button);
    }
  }

  function addFilter(box, table) {
    const line = document.createElement("div"), field = document.createElement("input"), count = document.createElement("span");
    line.className = "filter";
    field.type = "search";
    field.placeholder = "Filter";
    field.id = `filter ${caption(box)}`;
    field.setAttribute("aria-label", `Filter: ${caption(box)}`);
    field.value = state.get(caption(box))?.words ?? "";
    field.addEventListener("input", () => choose(box, { words: field.value }));
    count.className = "count";
    count.setAttribute("role", "status");
    line.append(field, count);
    box.prepend(line);
  }

  function enhance(root) {
    for (const box of root.querySelectorAll(".table")) {
      const table = box.querySelector("table");
      if (!table?.tHead || box.dataset.sortable) continue;
      box.dataset.sortable = "yes";
      addButtons(box, table);
      if (rows(table).length >= kMinToFilter) addFilter(box, table);
      if (state.has(caption(box))) apply(box);
      else filter(box, table, { words: "" });
    }
  }

  readAddress();
  addEventListener("hashchange", follow);
  return { enhance };
})();
