// SPDX-License-Identifier: Apache-2.0
// Looks at the dashboard's pages at the widths of phone, tablet, laptop and screen, and uses them with the keyboard alone.
// Usage: node check_views.mjs PROGRAM DB [WIDTH_SCHEME...]
// $SCREENSHOTS: a folder for pictures of what was seen.
import { execFileSync } from "node:child_process";
import { localOnly, startDashboard } from "./dashboard_program.mjs";
import { kPatience, kWidths, launch, openContext, openTab, visit } from "./page_visit.mjs";

let failures = 0;
const say = (text) => process.stdout.write(`${text}\n`);

function check(holds, what) {
  if (holds) return;
  failures += 1;
  say(`  FAULT ${what}`);
}

async function until(what, holds) {
  for (const end = Date.now() + kPatience; Date.now() < end; ) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  check(false, `${what}: never`);
}

const [program, db, ...looks] = process.argv.slice(2);
const ask = (sql) => execFileSync("sqlite3", [db, sql], { encoding: "utf8" }).trim().split("\n")[0];
const search = ask("SELECT search_id FROM llm_calls GROUP BY search_id ORDER BY max(length(answer)) DESC LIMIT 1") || ask("SELECT max(id) FROM searches");
const child = ask(`SELECT p.variant_id FROM variant_parents p JOIN proposals q ON q.variant_id = p.variant_id AND q.llm_call_id IS NOT NULL
  WHERE q.search_id = ${search} ORDER BY p.variant_id DESC LIMIT 1`);
const parent = ask(`SELECT parent_id FROM variant_parents WHERE variant_id = ${child || 0} LIMIT 1`);
const kPages = [["overview", "/"], ["sessions", "/sessions"], ["search", `/search?search=${search}`], ["transcript", `/transcript?transcript=${search}`],
  ["variant", `/variant?variant=${child || 1}`], ["compare", `/compare?a=${parent || 1}&b=${child || 1}`], ["variants", "/variants"]];

/** Every page at one width, light or dark. */
async function checkLook(browser, server, look) {
  const context = await openContext(browser, { colorScheme: look.colorScheme, viewport: look.viewport });
  await (await context.newPage()).goto(server.url);
  for (const [name, path] of kPages) {
    const screenshot = process.env.SCREENSHOTS && `${process.env.SCREENSHOTS}/view_${name}_${look.name}.png`;
    const { times, faults } = await visit(context, `http://127.0.0.1:${server.port}${path}`, localOnly(server.port), { screenshot });
    say(`${look.name.padEnd(10)} ${path.padEnd(32)} loaded ${times.load.toFixed(0)} ms`);
    for (const fault of faults) check(false, fault);
  }
  await context.close();
}

const column = (tab, caption, i) => tab.evaluate(([name, at]) => [...document.querySelectorAll(".table")]
  .find((box) => box.querySelector("caption").textContent === name).querySelectorAll("tbody tr:not(.details):not([hidden])")
  .values().map((row) => row.cells[at].textContent).toArray(), [caption, i]);

/** A table is sorted and narrowed with the keyboard, and its address shows the same again. */
async function checkTable(context, server) {
  const { tab, faults } = await openTab(context, localOnly(server.port));
  await tab.goto(`http://127.0.0.1:${server.port}/variants`);
  const caption = await tab.locator(".table caption").first().textContent();
  const before = await column(tab, caption, 0);
  await tab.locator(".table").first().getByRole("button", { name: "variant", exact: true }).focus();
  await tab.keyboard.press("Enter");
  const up = await column(tab, caption, 0);
  check(up.every((value, i) => i === 0 || Number(up[i - 1]) <= Number(value)), `not sorted: ${up.slice(0, 5)}`);
  await tab.keyboard.press("Enter");
  check(String(await column(tab, caption, 0)) === String([...up].reverse()), "not sorted the other way");
  await tab.keyboard.press("Enter");
  check(String(await column(tab, caption, 0)) === String(before), "a third press does not bring the order back");
  await tab.keyboard.press("Enter");
  await tab.locator(".filter input").first().focus();
  await tab.keyboard.type(up[0]);
  const narrowed = await column(tab, caption, 0);
  check(narrowed.length < up.length && narrowed.length > 0, `${narrowed.length} of ${up.length} rows are left`);
  const address = tab.url();
  await tab.goto("about:blank");
  await tab.goto(address);
  check(String(await column(tab, caption, 0)) === String(narrowed), "the address does not show the same rows");
  for (const fault of faults) check(false, fault);
  await tab.close();
}

/** A permanent link has a part of the page and what was chosen in a table: neither drops the other. */
async function checkLinks(context, server) {
  const { tab, faults } = await openTab(context, localOnly(server.port));
  const choices = () => new URL(tab.url()).hash.includes("table.");
  await tab.goto(`http://127.0.0.1:${server.port}/search?search=${search}#failures`);
  const sort = tab.locator(".table button.sort").first();
  await sort.focus();
  await tab.keyboard.press("Enter");
  check(tab.url().includes("#failures&table."), `sorting lost the part: ${tab.url()}`);
  await tab.locator("nav.outline a").first().focus();
  await tab.keyboard.press("Enter");
  await until("the part's link keeps the choice", () => choices() && !tab.url().includes("#failures"));
  const link = tab.url().replace(/#[^&]*/, "#failures");
  await tab.goto("about:blank");
  await tab.goto(link);
  await until("the page scrolls to its part", () => tab.evaluate(() => Math.abs(document.getElementById("failures").getBoundingClientRect().top) < innerHeight));
  check((await tab.locator(".table th[aria-sort]").count()) === 1, "the link does not sort");
  for (const fault of faults) check(false, fault);
  await tab.close();
}

/** A step of the lineage is opened, a line of a source followed and a command copied, with the keyboard. */
async function checkPanes(context, server) {
  const { tab, faults } = await openTab(context, localOnly(server.port));
  await tab.goto(`http://127.0.0.1:${server.port}/search?search=${search}`);
  if (child) {
    const step = tab.locator(`details.fetched[data-address="step?step=${child}"]`);
    await step.locator("summary").first().focus();
    await tab.keyboard.press("Enter");
    await until("the step is fetched", () => step.evaluate((box) => box.querySelector(".sides") !== null));
  }
  await tab.getByRole("button", { name: "Copy: Begin the same again" }).focus();
  await tab.keyboard.press("Enter");
  const copied = await tab.evaluate(() => navigator.clipboard.readText());
  check(copied === ask(`SELECT command FROM searches WHERE id = ${search}`), `copied: ${copied}`);
  await tab.goto(`http://127.0.0.1:${server.port}/variant?variant=${child || 1}#l3`);
  await tab.locator(".listing .pane").focus();
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("ArrowDown");
  check((await tab.locator(".listing tr.chosen").getAttribute("data-line")) === "2", "the arrows do not follow the lines");
  await tab.goto(`http://127.0.0.1:${server.port}/search?search=${search}#failures`);
  await until("the page scrolls to its part", () => tab.evaluate(() => Math.abs(document.getElementById("failures").getBoundingClientRect().top) < innerHeight));
  for (const fault of faults) check(false, fault);
  await tab.close();
}

const browser = await launch();
try {
  const server = await startDashboard(program, db);
  for (const look of kWidths.filter(({ name }) => looks.length === 0 || looks.includes(name))) await checkLook(browser, server, look);
  const context = await openContext(browser, { viewport: { width: 1280, height: 900 }, permissions: ["clipboard-read", "clipboard-write"] });
  await (await context.newPage()).goto(server.url);
  await checkTable(context, server);
  await checkPanes(context, server);
  await checkLinks(context, server);
  await context.close();
  server.child.kill("SIGTERM");
  check((await server.ended) === 0, "the dashboard does not end with 0");
} finally {
  await browser.close();
}
say(failures ? `${failures} faults` : "no faults");
process.exit(failures ? 1 : 0);
