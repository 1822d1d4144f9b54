// SPDX-License-Identifier: Apache-2.0
// Texts: a button that copies them, parts that are fetched when they are opened, and a source that shows which
// instructions a line became.
"use strict";

const panes = (() => {
  const fetched = new Map(); // what was fetched for an address, so that an update of the page need not ask again

  function addCopyButton(figure) {
    const code = figure.querySelector("pre code");
    if (!code || !navigator.clipboard || figure.querySelector("button.copy")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    const title = figure.querySelector("figcaption")?.textContent ?? "";
    button.setAttribute("aria-label", `Copy: ${title}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent.replace(/\n$/, ""));
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    figure.append(button);
  }

  function put(box, html) {
    const parsed = new DOMParser().parseFromString(html, "text/html"); // runs no script
    const holder = document.createElement("div");
    holder.className = "part";
    const parts = [...(parsed.querySelector("main") ?? parsed.body).children].filter((node) => !node.matches("h1"));
    holder.append(...parts.map((node) => document.adoptNode(node)));
    box.querySelector(":scope > :not(summary)")?.remove();
    box.append(holder);
    enhance(holder);
  }

  async function load(box) {
    const address = box.dataset.address;
    if (fetched.has(address)) return put(box, fetched.get(address));
    try {
      const response = await fetch(`${address}&fragment=1`, { credentials: "same-origin" });
      if (!response.ok) return; // the link in it leads to the page, which says why
      fetched.set(address, await response.text());
      put(box, fetched.get(address));
    } catch {
      // the line at the top says that the connection is lost
    }
  }

  /** The line of a source that the reader is at, and the instructions that it became. */
  function mark(beside, line) {
    beside.querySelectorAll(".chosen").forEach((node) => node.classList.remove("chosen"));
    const found = [...beside.querySelectorAll(`[data-line="${line}"]`)];
    found.forEach((node) => node.classList.add("chosen"));
    for (const pane of beside.querySelectorAll(".pane")) {
      const first = found.find((node) => pane.contains(node));
      if (!first) continue;
      const place = first.getBoundingClientRect(), room = pane.getBoundingClientRect();
      if (place.top < room.top || place.bottom > room.bottom) pane.scrollTop += place.top - room.top - room.height / 3;
    }
  }

  function follow(beside) {
    const lines = [...beside.querySelectorAll(".listing tr[data-line]")];
    const at = () => lines.findIndex((line) => line.classList.contains("chosen"));
    beside.addEventListener("click", (event) => {
      const node = event.target.closest("[data-line]");
      if (node) mark(beside, node.dataset.line);
    });
    beside.querySelector(".listing .pane")?.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || lines.length === 0) return;
      event.preventDefault();
      mark(beside, lines[Math.min(Math.max(at() + step, 0), lines.length - 1)].dataset.line);
    });
  }

  function enhance(root) {
    root.querySelectorAll("figure.code").forEach(addCopyButton);
    for (const box of root.querySelectorAll("details.fetched")) {
      if (box.open) load(box);
      box.addEventListener("toggle", () => box.open && load(box));
    }
    root.querySelectorAll(".beside").forEach(follow);
  }

  return { enhance };
})();
