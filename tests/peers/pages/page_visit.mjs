// SPDX-License-Identifier: Apache-2.0
// A browser that looks at one page and says everything that is wrong with it.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const kAxe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const kMaxTabs = 60; // stops of the keyboard that are tried on a page; long tables have hundreds of links

/** How long what has to come is waited for, in ms: far longer than the slowest machine takes. */
export const kPatience = 600_000;

export const kLooks = [
  { name: "light", colorScheme: "light", viewport: { width: 1280, height: 800 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1280, height: 800 } },
  { name: "phone", colorScheme: "light", viewport: { width: 390, height: 844 } },
];

/** Phone, tablet, laptop and screen, each light and dark. */
export const kWidths = [400, 800, 1280, 1920].flatMap((width) => ["light", "dark"].map((colorScheme) =>
  ({ name: `${width}_${colorScheme}`, colorScheme, viewport: { width, height: width < 600 ? 844 : 900 } })));

/** Debian's Chromium with a profile of its own and nothing that calls home. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
}

/** What Playwright waits for in it has all the time that it takes. */
export async function openContext(browser, options) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(kPatience);
  return context;
}

/** A tab whose faults are collected in `faults`. `allowed(url)` says which requests may be made. */
export async function openTab(context, allowed) {
  const tab = await context.newPage();
  const faults = [];
  tab.on("console", (message) => message.type() === "error" && faults.push(`console: ${message.text()}`));
  tab.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  tab.on("request", (request) => allowed(request.url()) || faults.push(`request to ${request.url().slice(0, 200)}`));
  tab.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await tab.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} refused ${event.blockedURI} ${event.sample}`));
  });
  return { tab, faults };
}

/** Serious and critical findings of axe-core. */
async function accessibilityFaults(tab) {
  await tab.evaluate(kAxe);
  const result = await tab.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  return result.violations
    .filter((violation) => ["serious", "critical"].includes(violation.impact))
    .map((violation) => `axe ${violation.id} (${violation.impact}): ${violation.help}; ${violation.nodes.length} times, ` +
      `e.g. ${violation.nodes[0].html.slice(0, 160)} ${violation.nodes[0].failureSummary.replaceAll("\n", " ").slice(0, 200)}`);
}

/** The keyboard reaches everything in the order of the page, and shows where it is. */
async function keyboardFaults(tab) {
  const faults = [];
  const stops = await tab.evaluate(() => {
    const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
    const shown = all.filter((element) => (element.checkVisibility() && element.getClientRects().length > 0) || element.matches(".skip"));
    shown.forEach((element, i) => (element.dataset.stop = i));
    return shown.length;
  });
  await tab.evaluate(() => {
    document.activeElement?.blur();
    scrollTo(0, 0);
  });
  for (let i = 0; i < Math.min(stops, kMaxTabs); ++i) {
    await tab.keyboard.press("Tab");
    const at = await tab.evaluate(() => {
      const style = getComputedStyle(document.activeElement);
      return { stop: document.activeElement.dataset.stop, html: document.activeElement.outerHTML.slice(0, 100),
        marked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 };
    });
    if (at.stop !== String(i)) return [...faults, `keyboard: stop ${i} of ${stops} is ${at.stop}: ${at.html}`];
    if (!at.marked) faults.push(`keyboard: no mark at ${at.html}`);
  }
  return faults;
}

/** Text that a page of the data says to be its own doing; scripts of the data would have set it. */
const ranScript = (tab) => tab.evaluate(() => window.pwned !== undefined || window.name === "pwned");

/** Words that are there and cannot be read: labels cut to nothing, and lines under the button of their row. */
async function hiddenWords(tab) {
  return tab.evaluate(() => {
    const faults = [];
    for (const figure of document.querySelectorAll("figure.chart")) {
      const cut = [...figure.querySelectorAll("svg text")].filter((text) => text.textContent === "…").length;
      if (cut) faults.push(`chart: ${cut} labels have no letter: ${figure.querySelector("figcaption").textContent}`);
    }
    const linesOf = (cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return [...range.getClientRects()];
    };
    for (const button of document.querySelectorAll("button.more")) {
      const place = button.getBoundingClientRect();
      const under = (line) => line.right > place.left + 1 && line.left < place.right - 1 && line.bottom > place.top + 1 && line.top < place.bottom - 1;
      const hidden = [...button.closest("tr").children].find((cell) => !cell.contains(button) && linesOf(cell).some(under));
      if (hidden) faults.push(`layout: a button is on "${hidden.textContent.slice(0, 60)}"`);
    }
    return faults;
  });
}

async function layoutFaults(tab) {
  return tab.evaluate(() => {
    const faults = [];
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) faults.push(`layout: the page is ${scrollWidth} wide in a window of ${clientWidth}`);
    for (const box of document.querySelectorAll(".table")) {
      if (box.clientWidth > 0 && box.scrollWidth > box.clientWidth)
        faults.push(`layout: the table "${box.querySelector("caption")?.textContent.slice(0, 60)}" is ${box.scrollWidth} wide in ${box.clientWidth}`);
    }
    for (const figure of document.querySelectorAll("figure.chart")) {
      const cut = [...figure.querySelectorAll("svg")].find((svg) => svg.getBoundingClientRect().right > document.documentElement.clientWidth + 1);
      if (cut) faults.push(`layout: a picture is wider than the page: ${figure.querySelector("figcaption").textContent}`);
    }
    for (const figure of document.querySelectorAll("figure.chart"))
      if (!figure.querySelector("svg")) faults.push(`chart without a picture: ${figure.textContent.slice(0, 80)}`);
    return faults;
  });
}

/** Every fold and every row of details can be opened, with the keyboard too, and what it shows has room. */
async function foldFaults(tab) {
  const opened = await tab.evaluate(() => {
    document.querySelectorAll("details").forEach((box) => (box.open = true));
    return new Promise((done) => setTimeout(done, 50)).then(() => {
      const buttons = [...document.querySelectorAll("button.more")].slice(0, 40);
      buttons.forEach((button) => button.click());
      return { buttons: buttons.length, rows: document.querySelectorAll("tr.details").length,
        empty: [...document.querySelectorAll("tr.details dl")].filter((list) => list.children.length === 0).length };
    });
  });
  const faults = (await layoutFaults(tab)).map((fault) => `opened: ${fault}`);
  if (opened.rows !== opened.buttons || opened.empty > 0)
    faults.push(`folding: ${opened.buttons} buttons opened ${opened.rows} rows, ${opened.empty} of them empty`);
  return faults;
}

/** On paper no column is folded away and no fold is closed. */
async function paperFaults(tab) {
  await tab.emulateMedia({ media: "print" });
  const faults = await tab.evaluate(() => {
    dispatchEvent(new Event("beforeprint"));
    const hidden = [...document.querySelectorAll("th, td:not(.more)")].filter((cell) => !cell.matches(".more") && cell.closest("tr:not(.details)") &&
      getComputedStyle(cell).display === "none");
    const closed = document.querySelectorAll("details:not([open])").length;
    dispatchEvent(new Event("afterprint"));
    return [hidden.length ? `paper: ${hidden.length} cells are not there, e.g. ${hidden[0].textContent.slice(0, 60)}` : "",
      closed ? `paper: ${closed} folds are closed` : ""].filter(Boolean);
  });
  await tab.emulateMedia({ media: "screen" });
  return faults;
}

/**
 * Looks at one page. Returns its times in ms and its faults.
 * @param options.screenshot file for a picture of the whole page, if any
 */
export async function visit(context, url, allowed, options = {}) {
  const { tab, faults } = await openTab(context, allowed);
  const response = await tab.goto(url, { waitUntil: "load" });
  if (response && response.status() !== 200 && response.status() !== 0)
    faults.push(`status ${response.status()}: ${(await response.text()).slice(0, 300)}`);
  const drawn = () => tab.evaluate(() => [...document.querySelectorAll("figure.chart")].every((figure) => figure.querySelector("svg")));
  for (const end = Date.now() + kPatience; Date.now() < end && !(await drawn()); ) await tab.waitForTimeout(50);
  await tab.waitForTimeout(150); // handlers of hostile elements would have run
  const times = await tab.evaluate(() => ({
    response: performance.getEntriesByType("navigation")[0].responseEnd,
    load: performance.getEntriesByType("navigation")[0].loadEventEnd,
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
  }));
  faults.push(...(await layoutFaults(tab)));
  faults.push(...(await hiddenWords(tab)));
  faults.push(...(await accessibilityFaults(tab)));
  if (options.screenshot) await tab.screenshot({ path: options.screenshot, fullPage: true });
  faults.push(...(await keyboardFaults(tab)));
  faults.push(...(await foldFaults(tab)));
  faults.push(...(await accessibilityFaults(tab)).map((fault) => `opened: ${fault}`));
  faults.push(...(await paperFaults(tab)));
  if (await ranScript(tab)) faults.push("a script of the data ran");
  await tab.close();
  return { times, faults };
}
