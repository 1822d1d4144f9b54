// SPDX-License-Identifier: Apache-2.0
// Keeps a page as new as the database: the server tells when something was committed, the page then fetches itself
// and takes over the parts that differ. What the reader did (scrolling, opened details, focus, text in a form) stays.
"use strict";

(() => {
  const kMinPause = 1000; // ms between two updates, so that a busy writer does not keep the reader from reading
  const kScrolling = "[tabindex], pre, .scroll";
  const kFocusable = "a[href], button, input, select, textarea, summary, [tabindex]";

  /** Says whether what is shown is new; a button stops the updates. */
  class StatusLine {
    constructor(onPause) {
      this.text = document.createElement("span");
      this.text.setAttribute("role", "status");
      this.button = document.createElement("button");
      this.button.type = "button";
      this.button.addEventListener("click", onPause);
      const line = document.createElement("p");
      line.className = "live";
      line.append(this.text, " ", this.button);
      (document.querySelector("header") ?? document.body).append(line);
    }

    show(state, words) {
      document.documentElement.dataset.live = state;
      if (this.text.textContent !== words) this.text.textContent = words;
      const label = state === "paused" ? "Resume updates" : "Pause updates";
      if (this.button.textContent !== label) this.button.textContent = label;
    }
  }

  /** What the reader did in `main`, to be done again in its next version. */
  class ReaderState {
    constructor(main) {
      this.main = main;
      this.scroll = [scrollX, scrollY];
      this.regions = [...main.querySelectorAll(kScrolling)].map((region) => [region.scrollLeft, region.scrollTop]);
      this.details = new Map([...main.querySelectorAll("details")].map((box, i) => [this.nameOf(box, i), box.open]));
      this.fields = new Map();
      for (const field of main.querySelectorAll("input[name], select[name], textarea[name]")) {
        if (field.value !== field.defaultValue) this.fields.set(field.name, field.value);
      }
      const active = document.activeElement;
      this.focus = main.contains(active) ? this.describe(active) : null;
    }

    nameOf(box, number) {
      return box.id || box.dataset.address || `${number} ${box.querySelector("summary")?.textContent}`;
    }

    describe(element) {
      const same = [...this.main.querySelectorAll(element.tagName)];
      return {
        id: element.id,
        tag: element.tagName,
        name: element.getAttribute("name"),
        href: element.getAttribute("href"),
        number: same.indexOf(element),
        selection: element.selectionStart === undefined ? null : [element.selectionStart, element.selectionEnd],
      };
    }

    restore() {
      [...this.main.querySelectorAll("details")].forEach((box, i) => {
        const open = this.details.get(this.nameOf(box, i));
        if (open !== undefined) box.open = open;
      });
      for (const [name, value] of this.fields) {
        const field = this.main.querySelector(`[name="${CSS.escape(name)}"]`);
        if (field) field.value = value;
      }
      [...this.main.querySelectorAll(kScrolling)].forEach((region, i) => {
        if (this.regions[i]) [region.scrollLeft, region.scrollTop] = this.regions[i];
      });
      this.restoreFocus();
      scrollTo(...this.scroll);
    }

    restoreFocus() {
      if (!this.focus || this.main.contains(document.activeElement)) return;
      const same = [...this.main.querySelectorAll(this.focus.tag)];
      const target =
        (this.focus.id && document.getElementById(this.focus.id)) ||
        (this.focus.name && same.find((element) => element.getAttribute("name") === this.focus.name)) ||
        (this.focus.href && same.find((element) => element.getAttribute("href") === this.focus.href)) ||
        same[this.focus.number];
      if (!target || !target.matches(kFocusable)) return;
      target.focus({ preventScroll: true });
      if (this.focus.selection && this.focus.selection[0] !== null) {
        try {
          target.setSelectionRange(...this.focus.selection);
        } catch {
          // a field that has no selection, such as a number
        }
      }
    }
  }

  /** The part of the page that changes. Remembers what the server sent, because pictures are drawn into it later. */
  class LivePart {
    constructor(main) {
      this.main = main;
      this.sent = [];
    }

    take(html) {
      const parsed = new DOMParser().parseFromString(html, "text/html"); // runs no script
      const next = [...(parsed.querySelector("main") ?? parsed.body).children];
      const texts = next.map((node) => node.outerHTML);
      if (texts.length === this.sent.length && texts.every((text, i) => text === this.sent[i])) return;
      const reader = new ReaderState(this.main);
      const keeps = texts.length === this.sent.length && this.main.children.length === this.sent.length;
      const old = [...this.main.children];
      const fresh = next.filter((node, i) => !keeps || texts[i] !== this.sent[i]);
      if (keeps) {
        next.forEach((node, i) => texts[i] !== this.sent[i] && old[i].replaceWith(document.adoptNode(node)));
      } else {
        this.main.replaceChildren(...next.map((node) => document.adoptNode(node)));
      }
      this.sent = texts;
      for (const node of fresh) this.draw(node);
      outline.build(this.main);
      reader.restore();
    }

    /** What other scripts make of `node` and what is below it. */
    draw(node) {
      const part = { querySelectorAll: (what) => [...(node.matches(what) ? [node] : node.querySelectorAll(what))] };
      tables.enhance(part);
      layout.apply(part);
      panes.enhance(part);
    }
  }

  class Updates {
    constructor(main) {
      this.part = new LivePart(main);
      this.paused = false;
      this.underWay = false;
      this.wanted = false;
      this.last = 0;
      this.postponed = false;
      this.lost = false;
      this.status = new StatusLine(() => this.toggle());
      document.addEventListener("visibilitychange", () => this.connect());
      document.addEventListener("selectionchange", () => this.postponed && this.refresh());
      addEventListener("pagehide", () => this.disconnect()); // a page that is kept for going back holds no connection
      addEventListener("pageshow", (event) => event.persisted && this.connect());
      this.connect();
    }

    toggle() {
      this.paused = !this.paused;
      this.connect();
      if (this.paused) this.status.show("paused", "Updates are paused.");
    }

    disconnect() {
      this.events?.close();
      this.events = null;
    }

    /** A page that nobody sees needs no connection; browsers allow six to a server. */
    connect() {
      this.disconnect();
      if (this.paused || document.hidden) return;
      const again = this.last > 0;
      this.events = new EventSource("/events");
      this.events.addEventListener("open", () => {
        this.status.show("live", "Live: follows the database.");
        if (again || this.lost) this.refresh();
        this.lost = false;
        this.last ||= 1;
      });
      this.events.addEventListener("change", () => this.refresh());
      this.events.addEventListener("error", () => {
        this.lost = true;
        const ended = this.events?.readyState === EventSource.CLOSED;
        this.status.show("lost", ended ? "Not live: the server refuses to send news. Reload the page." :
          "Connection lost: what is shown may be old. Trying again.");
      });
    }

    async refresh() {
      this.wanted = true;
      if (this.underWay) return;
      this.underWay = true;
      while (this.wanted && !this.paused) {
        this.wanted = false;
        await new Promise((done) => setTimeout(done, Math.max(0, this.last + kMinPause - Date.now())));
        await this.fetchPage();
        this.last = Date.now();
      }
      this.underWay = false;
    }

    async fetchPage() {
      this.postponed = !(getSelection()?.isCollapsed ?? true); // marked text would be lost
      if (this.postponed) return;
      const address = new URL(location.href);
      address.searchParams.set("fragment", "1");
      address.hash = "";
      try {
        const response = await fetch(address, { cache: "no-store", credentials: "same-origin" });
        const text = await response.text();
        if (this.paused) return; // meanwhile
        if (response.ok) {
          this.part.take(text);
          document.documentElement.dataset.updates = Number(document.documentElement.dataset.updates ?? 0) + 1;
          this.status.show("live", "Live: follows the database.");
        } else {
          this.status.show("stale", `Not updated: ${text.slice(0, 200)}`);
        }
      } catch {
        if (!this.paused) this.status.show("lost", "Connection lost: what is shown may be old. Trying again.");
      }
    }
  }

  const main = document.querySelector("main");
  if (!main) return;
  tables.enhance(main);
  panes.enhance(main);
  outline.build(main);
  outline.scroll();
  new Updates(main);
})();
