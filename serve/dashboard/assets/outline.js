// SPDX-License-Identifier: Apache-2.0
// The parts of a page: every heading has an address of its own, and a long page has a list of them at its side.
"use strict";

const outline = (() => {
  const kMinHeadings = 3; // headings: a shorter page needs no list

  function nameOf(heading, taken) {
    const words = heading.textContent.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-+|-+$/g, "") || "part";
    let name = words;
    for (let i = 2; taken.has(name); ++i) name = `${words}-${i}`;
    taken.add(name);
    return name;
  }

  function list(headings) {
    const nav = document.createElement("nav"), items = document.createElement("ul");
    nav.className = "outline";
    nav.setAttribute("aria-label", "On this page");
    for (const heading of headings) {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = `#${heading.id}`;
      link.textContent = heading.textContent;
      item.append(link);
      items.append(item);
    }
    nav.append(items);
    return nav;
  }

  function build(main) {
    const taken = new Set(), headings = [...main.querySelectorAll(":scope > h2")];
    headings.forEach((heading) => (heading.id = nameOf(heading, taken)));
    const old = document.querySelector("nav.outline");
    const wanted = headings.length >= kMinHeadings ? list(headings) : null;
    if (old && wanted && old.textContent === wanted.textContent) return; // the reader's place in it stays
    old?.remove();
    if (wanted) main.before(wanted);
  }

  /** A page that is opened at a part scrolls to it, though the part got its name only now. */
  function scroll() {
    document.getElementById(address.part())?.scrollIntoView();
  }

  return { build, scroll };
})();
