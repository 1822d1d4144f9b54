// SPDX-License-Identifier: Apache-2.0
// The program whose pages are looked at.
import { spawn } from "node:child_process";

/** Starts `alphakernel dashboard`; its address holds the token. */
export async function startDashboard(program, db) {
  const child = spawn(program, ["dashboard", "--json", "--db", db, "--timeout", "600"], { stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise((done, failed) => {
    let text = "";
    child.stdout.on("data", (bytes) => (text += bytes).includes("\n") && done(text));
    child.on("exit", (code) => failed(new Error(`the dashboard ended with ${code}`)));
  });
  process.on("exit", () => child.kill()); // also where a check throws
  const ended = new Promise((done) => child.on("exit", (code) => done(code)));
  return { child, ended, ...JSON.parse(line) };
}

/** Which requests a page may make: none to another host. */
export const localOnly = (port) => (url) => url.startsWith(`http://127.0.0.1:${port}/`) || url.startsWith("data:");
