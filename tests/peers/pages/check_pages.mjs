// SPDX-License-Identifier: Apache-2.0
// Looks at pages in a real browser. Usage:
//   node check_pages.mjs dashboard PROGRAM DB [LOOK...]   every page of a database's dashboard (page_visit.mjs has the looks)
//   node check_pages.mjs live PROGRAM DB                  what happens while another process writes, and when the server ends
//   node check_pages.mjs report FILE...                   reports and other HTML files
// $SCREENSHOTS: a folder for pictures of what was seen.
import { execFileSync, spawn } from "node:child_process";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { localOnly, startDashboard } from "./dashboard_program.mjs";
import { kLooks, kPatience, kWidths, launch, openContext, openTab, visit } from "./page_visit.mjs";

let failures = 0;
const say = (text) => process.stdout.write(`${text}\n`);

function check(holds, what) {
  if (holds) return;
  failures += 1;
  say(`  FAULT ${what}`);
}

const ask = (db, sql) => execFileSync("sqlite3", [db, sql], { encoding: "utf8" }).trim();

/** Addresses of every page, with the newest rows that there are. */
function pagePaths(db) {
  const value = (sql) => ask(db, sql).split("\n")[0];
  const name = (sql) => encodeURIComponent(value(sql));
  const paths = ["/", "/variants", "/variants?q=a&status=ok", "/failures", "/insights", "/device?device=" + name("SELECT name FROM devices LIMIT 1"),
    "/definition?definition=" + name("SELECT d.name FROM searches s JOIN definitions d ON d.id = s.definition_id ORDER BY s.id DESC LIMIT 1")];
  for (const id of ask(db, "SELECT DISTINCT id FROM (SELECT min(id) AS id FROM searches UNION SELECT max(id) FROM searches)").split("\n"))
    paths.push(`/search?search=${id}`);
  const variants = ask(db, "SELECT min(id) FROM variants UNION SELECT max(v.id) FROM variants v JOIN variant_parents p ON p.variant_id = v.id " +
    "UNION SELECT max(e.variant_id) FROM evaluations e JOIN metrics m ON m.evaluation_id = e.id");
  const ids = variants.split("\n").filter(Boolean);
  for (const id of ids) paths.push(`/variant?variant=${id}`);
  paths.push("/sessions", `/compare?a=${ids[0]}&b=${ids.at(-1)}`, `/step?step=${ids[Math.min(1, ids.length - 1)]}`);
  for (const id of ask(db, "SELECT max(search_id) FROM llm_calls").split("\n").filter(Boolean)) paths.push(`/transcript?transcript=${id}`);
  for (const id of ask(db, "SELECT max(id) FROM llm_calls").split("\n").filter(Boolean)) paths.push(`/call?call=${id}`);
  return paths;
}

async function checkDashboard(browser, program, db, looks) {
  const server = await startDashboard(program, db);
  for (const look of kLooks.filter(({ name }) => looks.length === 0 || looks.includes(name))) {
    const context = await openContext(browser, { colorScheme: look.colorScheme, viewport: look.viewport });
    const first = await context.newPage();
    await first.goto(server.url);
    check(new URL(first.url()).search === "", "the token stays in the address");
    await first.close();
    for (const path of pagePaths(db)) {
      const name = path.replace(/^\//, "").replace(/[^a-z0-9]+/gi, "_").slice(0, 40) || "overview";
      const screenshot = process.env.SCREENSHOTS && `${process.env.SCREENSHOTS}/${basename(db, ".db")}_${name}_${look.name}.png`;
      const { times, faults } = await visit(context, `http://127.0.0.1:${server.port}${path}`, localOnly(server.port), { screenshot });
      say(`${look.name.padEnd(6)} ${path.slice(0, 60).padEnd(60)} answered ${times.response.toFixed(0)} ms, ` +
        `first paint ${times.paint.toFixed(0)} ms, loaded ${times.load.toFixed(0)} ms`);
      for (const fault of faults) check(false, fault);
    }
    await context.close();
  }
  server.child.kill("SIGTERM");
  check((await server.ended) === 0, "the dashboard does not end with 0");
}

const updates = (tab) => tab.evaluate(() => Number(document.documentElement.dataset.updates ?? 0));

async function until(what, holds) {
  for (const end = Date.now() + kPatience; Date.now() < end; ) {
    if (await holds()) return true;
    await new Promise((done) => setTimeout(done, 50));
  }
  check(false, `${what}: never`);
  return false;
}

/** A page follows a writer, keeps what its reader did, and says when the server is gone. */
async function checkLive(browser, program, db) {
  const server = await startDashboard(program, db);
  const context = await openContext(browser, { viewport: { width: 1280, height: 500 } });
  const { tab, faults } = await openTab(context, localOnly(server.port));
  await tab.goto(server.url);
  const searches = () => tab.evaluate(() => document.querySelectorAll("main td a[href^='search?']").length);
  const before = await searches();
  await until("the page is live", () => tab.evaluate(() => document.documentElement.dataset.live === "live"));

  const form = await context.newPage();
  await form.goto(`http://127.0.0.1:${server.port}/variants`);
  await until("the second page is live", () => form.evaluate(() => document.documentElement.dataset.live === "live"));
  await form.fill("input[name=q]", "half written");
  await form.evaluate(() => document.querySelector("input[name=q]").setSelectionRange(4, 4));
  await form.mouse.wheel(0, 300);
  let scrolled = 0;
  await until("the second page has scrolled", async () => {
    const before = scrolled;
    scrolled = await form.evaluate(() => scrollY);
    return scrolled > 0 && scrolled === before;
  });
  const rows = () => form.evaluate(() => document.querySelector("main td a[href^='variant?']")?.textContent);
  const newest = await rows();

  const begin = Date.now();
  const writer = spawn(program, ["generate", "-q", "--algorithm", "vector_add", "--arch", "sm_90a", "--device", "none", "--max-evaluations", "4",
    "--db", db, "--output", `${db}.cu`], { stdio: "ignore" });
  await until("a new search is seen", async () => (await searches()) > before);
  say(`a search of another process is on the page ${Date.now() - begin} ms after that process was started`);
  await until("new variants are seen", async () => (await rows()) !== newest);
  await new Promise((done) => (writer.exitCode === null ? writer.on("exit", done) : done()));
  const kept = await form.evaluate(() => ({ name: document.activeElement.name, value: document.activeElement.value,
    caret: document.activeElement.selectionStart, scroll: scrollY }));
  check(kept.name === "q" && kept.value === "half written" && kept.caret === 4, `the form lost what was written: ${JSON.stringify(kept)}`);
  check(Math.abs(kept.scroll - scrolled) < 2, `the page scrolled from ${scrolled} to ${kept.scroll}`);

  await tab.getByRole("button", { name: "Pause updates" }).click();
  const paused = await updates(tab);
  execFileSync("sqlite3", [db, "PRAGMA busy_timeout = 5000; UPDATE searches SET reason = reason || ' again'"]);
  await new Promise((done) => setTimeout(done, 2500));
  check((await updates(tab)) === paused, "a paused page was updated");
  await tab.getByRole("button", { name: "Resume updates" }).click();
  await until("the page goes on", async () => (await updates(tab)) > paused);

  faults.length = 0;
  server.child.kill("SIGINT");
  check((await server.ended) === 0, "the dashboard does not end with 0");
  await until("the lost connection is shown", () => tab.evaluate(() => document.documentElement.dataset.live === "lost"));
  check((await tab.getByRole("status").allTextContents()).some((text) => text.includes("Connection lost")), "the lost connection is not said");
  for (const fault of faults.filter((text) => !text.includes("ERR_CONNECTION") && !text.includes("ERR_INCOMPLETE"))) check(false, fault);
  await context.close();
}

async function checkReport(browser, file) {
  for (const look of kWidths) {
    const context = await openContext(browser, { colorScheme: look.colorScheme, viewport: look.viewport });
    const url = pathToFileURL(resolve(file)).href;
    const screenshot = process.env.SCREENSHOTS && `${process.env.SCREENSHOTS}/${basename(file, ".html")}_${look.name}.png`;
    const { times, faults } = await visit(context, url, (asked) => asked === url || asked.startsWith("data:"), { screenshot });
    say(`${look.name.padEnd(10)} ${basename(file)} first paint ${times.paint.toFixed(0)} ms, loaded ${times.load.toFixed(0)} ms`);
    for (const fault of faults) check(false, fault);
    await context.close();
  }
}

const [what, ...rest] = process.argv.slice(2);
const browser = await launch();
try {
  if (what === "report") for (const file of rest) await checkReport(browser, file);
  else if (what === "dashboard") await checkDashboard(browser, rest[0], rest[1], rest.slice(2));
  else if (what === "live") await checkLive(browser, rest[0], rest[1]);
  else throw new Error("expected dashboard PROGRAM DB [LOOK...], live PROGRAM DB or report FILE...");
} finally {
  await browser.close();
}
say(failures ? `${failures} faults` : "no faults");
process.exit(failures ? 1 : 0);
