// SPDX-License-Identifier: Apache-2.0
// Lays a page out for its width: tables are fitted and pictures drawn at the start, and again when the width changes.
"use strict";

const layout = (() => {
  function apply(root) {
    folding.fit(root);
    charts.draw(root);
  }

  // The height is left alone: a picture changes it, so that following it would not end.
  let width = 0;
  function watch() {
    new ResizeObserver(() => {
      if (document.body.clientWidth === width) return;
      width = document.body.clientWidth;
      apply(document);
    }).observe(document.body);
  }

  document.addEventListener("DOMContentLoaded", watch);
  return {apply};
})();
