// SPDX-License-Identifier: Apache-2.0
// Keeps tables as narrow as the page: the columns that do not fit, from the right, are shown below a row when its button
// is pressed. On paper every column is there and every fold is open.
"use strict";

const folding = (() => {
  const kButtonWidth = 44; // CSS pixels that the column of buttons takes
  const kPhoneColumns = 4; // lines of a card on a phone before the rest is folded
  const phone = matchMedia("(max-width: 40rem)");

  const cells = (row) => [...row.children].filter((cell) => !cell.matches(".more"));
  const dataRows = (table) => [...table.querySelectorAll("tbody > tr:not(.details)")];

  /** Takes the rows of details away, so that rows can be moved or counted. */
  function close(table) {
    table.querySelectorAll("tr.details").forEach((row) => row.remove());
    table.querySelectorAll("button.more").forEach((button) => button.setAttribute("aria-expanded", "false"));
  }

  function unfold(table) {
    close(table);
    table.querySelectorAll(".more").forEach((cell) => cell.remove());
    table.querySelectorAll(".folded").forEach((cell) => cell.classList.remove("folded"));
    table.classList.remove("tight");
  }

  /** The narrowest that each column can be, in CSS pixels. */
  function widths(table) {
    table.classList.add("measured");
    const found = cells(table.tHead.rows[0]).map((cell) => cell.offsetWidth);
    table.classList.remove("measured");
    return found;
  }

  /** How many columns, from the left, have room; all of them or as many as leave room for the buttons. */
  function columnsThatFit(table, room) {
    const all = widths(table);
    if (phone.matches) return all.length <= kPhoneColumns + 1 ? all.length : kPhoneColumns;
    const total = all.reduce((sum, width) => sum + width, 0);
    if (total <= room) return all.length;
    let sum = kButtonWidth, count = 0;
    while (count < all.length && sum + all[count] <= room) sum += all[count++];
    return Math.max(1, count);
  }

  function detailsOf(row, heads, width) {
    const list = document.createElement("dl");
    cells(row).forEach((cell, i) => {
      if (!cell.classList.contains("folded")) return;
      const entry = document.createElement("div"), name = document.createElement("dt"), value = document.createElement("dd");
      name.textContent = heads[i];
      value.append(...[...cell.childNodes].map((node) => node.cloneNode(true)));
      entry.append(name, value);
      list.append(entry);
    });
    const details = document.createElement("tr"), cell = document.createElement("td");
    details.className = "details";
    cell.colSpan = width;
    cell.append(list);
    details.append(cell);
    return details;
  }

  function addButton(row, heads, width) {
    const cell = document.createElement("td"), button = document.createElement("button");
    cell.className = button.className = "more";
    button.type = "button";
    button.textContent = "…";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", `The rest of ${row.children[0].textContent.slice(0, 60)}`);
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "true";
      if (open) row.nextElementSibling.remove();
      else row.after(detailsOf(row, heads, width));
      button.setAttribute("aria-expanded", String(!open));
    });
    cell.append(button);
    row.append(cell);
  }

  function fold(table, count) {
    const head = table.tHead.rows[0], heads = cells(head).map((cell) => cell.textContent);
    for (const row of [head, ...dataRows(table)]) cells(row).slice(count).forEach((cell) => cell.classList.add("folded"));
    const corner = document.createElement("th");
    corner.className = "more";
    corner.scope = "col";
    corner.append(Object.assign(document.createElement("span"), {className: "unseen", textContent: "the rest"}));
    head.append(corner);
    for (const row of dataRows(table)) addButton(row, heads, count + 1);
  }

  function fitOne(box) {
    const table = box.querySelector("table"), room = box.clientWidth;
    if (!table?.tHead || room === 0) return; // in a fold that is closed
    unfold(table);
    const all = cells(table.tHead.rows[0]).length, count = columnsThatFit(table, room);
    if (count < all) fold(table, count);
    if (!phone.matches && box.scrollWidth > room) table.classList.add("tight");
  }

  const fit = (root) => root.querySelectorAll(".table").forEach(fitOne);

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((box) => (box.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((box) => (box.open = false)));
  document.addEventListener("toggle", (event) => event.target.open && fit(event.target), true);
  return {fit, close};
})();
