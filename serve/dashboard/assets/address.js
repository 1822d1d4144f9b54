// SPDX-License-Identifier: Apache-2.0
// What is in the address behind "#": the part of the page that was linked to, and what the reader chose, each as
// key=value: "#failures&table.Leaders=score|down|". Other scripts read and write it here alone, so that none drops what
// another one keeps there.
"use strict";

const address = (() => {
  const pieces = () => location.hash.slice(1).split("&").filter(Boolean);
  const isChoice = (piece) => piece.includes("=");

  /** The id of the part; empty for the top. */
  function part() {
    const found = pieces().find((piece) => !isChoice(piece)) ?? "";
    try {
      return decodeURIComponent(found);
    } catch {
      return found; // no link of ours
    }
  }

  const choices = () => new URLSearchParams(pieces().filter(isChoice).join("&"));

  /** @param chosen URLSearchParams; the part stays */
  function write(chosen) {
    const behind = [encodeURIComponent(part()), String(chosen)].filter(Boolean).join("&");
    history.replaceState(history.state, "", `${location.pathname}${location.search}${behind ? `#${behind}` : ""}`);
  }

  return { part, choices, write };
})();
