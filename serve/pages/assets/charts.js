// SPDX-License-Identifier: Apache-2.0
// Draws every <figure class="chart"> from the JSON in it (serve/pages/chart.h) with Observable Plot, as SVG, so
// that it prints sharply and takes the colours of the page. layout.js says when.
"use strict";

const charts = (() => {
  // CSS pixels. A picture takes the width of the page up to `widest`: beyond it a line is too flat to be compared. The
  // narrowest is still read; a narrower window scales it down. A facet is as wide as `facetWidth` at least.
  const widest = 1280, narrowest = 300, facetWidth = 440, gap = 24;
  const fontSize = 13, characterWidth = 7.5; // of system-ui at that size, on average
  // The series colours of page.css; more series than these cannot be distinguished and are drawn in one.
  const palette = Array.from({length: 10}, (_, i) => `var(--series-${i + 1})`);

  const objects = ({columns, rows}) =>
    rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));

  const groups = (rows, key) => (key ? [...d3.group(rows, (row) => row[key])] : [["", rows]]);

  const number = (value) => (value === null ? "–" : d3.format(Math.abs(value) >= 1e4 ? ",.0f" : ".4~r")(value));

  // What the pointer shows of a row.
  const tooltip = (chart) => (row) =>
    Object.entries(chart.headings)
      .map(([key, heading]) => `${heading}: ${typeof row[chart[key]] === "number" ? number(row[chart[key]]) : row[chart[key]] ?? "–"}`)
      .join("\n");

  const axis = (chart, key, rows = []) => {
    const largest = d3.max(rows, (row) => Math.abs(row[chart[key]]));
    const counts = rows.every((row) => Number.isInteger(row[chart[key]]));
    return {
      label: chart.headings[key], type: chart[`${key}_scale`] === "log" ? "log" : undefined, grid: true, nice: true,
      ticks: counts && largest < 10 ? largest : undefined, // no tick between two whole numbers
      tickFormat: largest < 1e-2 ? (value) => (value === 0 ? "0" : d3.format(".3~e")(value)) : undefined,
    };
  };

  const colour = (chart, rows) => {
    if (!chart.series) return {};
    const count = new Set(rows.map((row) => row[chart.series])).size;
    return count > 1 && count <= palette.length ? {color: {legend: true, label: chart.headings.series, range: palette}} : {};
  };
  const stroke = (chart, rows) => (colour(chart, rows).color ? chart.series : "var(--accent)");

  const defined = (rows, ...keys) => rows.filter((row) => keys.every((key) => row[key] !== null));

  // Axes that are logarithmic cannot hold zero.
  const drawable = (chart, rows) =>
    defined(rows, chart.x, chart.y).filter((row) => ["x", "y"].every((key) => chart[`${key}_scale`] !== "log" || row[chart[key]] > 0));

  const marks = {
    line: (chart, all) => {
      const rows = d3.sort(drawable(chart, all), (row) => row[chart.x]);
      const how = {x: chart.x, y: chart.y, z: chart.series, curve: "step-after", stroke: stroke(chart, rows)};
      const last = d3.rollups(rows, (v) => v[v.length - 1], (row) => row[chart.series]).map(([, row]) => row);
      return {
        height: 300, x: axis(chart, "x"), y: axis(chart, "y", rows), marginLeft: 64, ...colour(chart, rows),
        marks: [Plot.lineY(rows, how),
          Plot.dot(rows, Plot.pointer({x: chart.x, y: chart.y, stroke: how.stroke, r: 4})),
          Plot.dot(last, {x: chart.x, y: chart.y, fill: how.stroke, r: 3}),
          Plot.tip(rows, Plot.pointer({x: chart.x, y: chart.y, title: tooltip(chart)}))],
      };
    },
    scatter: (chart, all) => {
      const rows = drawable(chart, all);
      const front = chart.front ? d3.sort(rows.filter((row) => row[chart.front]), (row) => row[chart.x]) : [];
      return {
        height: 320, x: axis(chart, "x"), y: axis(chart, "y", rows), marginLeft: 64, ...colour(chart, rows),
        marks: [Plot.line(front, {x: chart.x, y: chart.y, curve: "step-after", stroke: "currentColor", strokeOpacity: 0.6}),
          Plot.dot(rows, {x: chart.x, y: chart.y, stroke: stroke(chart, rows), r: 3, strokeOpacity: 0.8}),
          Plot.dot(front, {x: chart.x, y: chart.y, fill: "currentColor", r: 3.5}),
          Plot.tip(rows, Plot.pointer({x: chart.x, y: chart.y, title: tooltip(chart)}))],
      };
    },
    roofline: (chart, all, facet) => {
      const rows = drawable({...chart, x_scale: "log", y_scale: "log"}, all);
      const roofs = objects(chart.roofs).filter((roof) => chart.facet === undefined || roof.facet === facet)
        .filter((roof) => roof.peak_tflops > 0 && roof.peak_gbps > 0);
      const ridges = roofs.map((roof) => roof.peak_tflops * 1e3 / roof.peak_gbps);
      const [low, high] = d3.extent([...rows.map((row) => row[chart.x]), ...ridges]);
      const left = low / 2, right = high * 4;
      const lines = roofs.flatMap((roof, i) => [left, ridges[i], right].map((x) => ({
        x, y: Math.min(roof.peak_tflops, x * roof.peak_gbps / 1e3), label: roof.label})));
      return {
        height: 380, marginRight: 20, ...colour(chart, rows),
        x: {label: chart.headings.x, type: "log", grid: true, domain: [left, right], tickFormat: "~g"},
        y: {label: chart.headings.y, type: "log", grid: true, tickFormat: "~g"},
        marks: [Plot.line(lines, {x: "x", y: "y", z: "label", stroke: "currentColor", strokeWidth: 1.5}),
          Plot.dot(rows, {x: chart.x, y: chart.y, stroke: stroke(chart, rows), r: 3, strokeOpacity: 0.8}),
          Plot.text(lines.filter((_, i) => i % 3 === 2), {x: "x", y: "y", text: "label", textAnchor: "end", dy: -6, fill: "currentColor", stroke: "var(--ground)", strokeWidth: 4}),
          Plot.tip(rows, Plot.pointer({x: chart.x, y: chart.y, title: tooltip(chart)}))],
      };
    },
    bars: (chart, all, facet, width) => {
      const rows = defined(all, chart.x, chart.y);
      const {margin, tickFormat} = names(rows, chart.y, width);
      return {
        height: 50 + 24 * new Set(rows.map((row) => row[chart.y])).size, marginLeft: margin, marginRight: 60,
        ...colour(chart, rows),
        x: axis(chart, "x", rows), y: {label: null, domain: rows.map((row) => row[chart.y]), tickFormat},
        marks: [Plot.barX(rows, {x: chart.x, y: chart.y, fill: stroke(chart, rows), insetTop: 3, insetBottom: 3}),
          chart.series ? null : Plot.text(rows, {x: chart.x, y: chart.y, text: (row) => number(row[chart.x]), textAnchor: "start", dx: 4, fill: "currentColor"}),
          Plot.ruleX([0]), Plot.tip(rows, Plot.pointerY({x: chart.x, y: chart.y, title: tooltip(chart)}))],
      };
    },
    // Ratios on a logarithmic axis: a bar from 1 to the value, a line for its interval, a dashed mark for the limit.
    intervals: (chart, all, facet, width) => {
      const rows = defined(all, chart.x, chart.y).filter((row) => row[chart.x] > 0);
      const {margin, tickFormat} = names(rows, chart.y, width);
      const values = (row) => [row[chart.x], row[chart.low], row[chart.high], row[chart.limit]].filter((value) => value > 0);
      const [low, high] = d3.extent([1, ...rows.flatMap(values)]);
      const tone = (row) => (["good", "bad", "warn"].includes(row[chart.tone]) ? `var(--${row[chart.tone]})` : "var(--quiet)");
      const spans = rows.filter((row) => row[chart.low] > 0 && row[chart.high] > 0);
      return {
        height: 56 + 30 * new Set(rows.map((row) => row[chart.y])).size, marginLeft: margin, marginRight: 64,
        x: {label: chart.headings.x, type: "log", domain: [low / 1.08, high * 1.08], grid: true, tickFormat: "~g", ticks: width / 90},
        y: {label: null, domain: rows.map((row) => row[chart.y]), tickFormat},
        marks: [Plot.barX(rows, {x1: 1, x2: chart.x, y: chart.y, fill: tone, fillOpacity: 0.75, insetTop: 5, insetBottom: 5}),
          Plot.ruleX([1], {stroke: "currentColor", strokeWidth: 1.5}),
          Plot.ruleY(spans, {x1: chart.low, x2: chart.high, y: chart.y, stroke: "currentColor", strokeWidth: 2}),
          Plot.tickX(rows.filter((row) => row[chart.limit] > 0), {x: chart.limit, y: chart.y, stroke: "currentColor", strokeWidth: 2, strokeDasharray: "4,3"}),
          // In a column of their own, so that no mark crosses them.
          Plot.text(rows, {y: chart.y, text: (row) => `${d3.format(".2f")(row[chart.x])}×`, frameAnchor: "right", textAnchor: "end", dx: 56, fill: "currentColor"}),
          Plot.tip(rows, Plot.pointerY({x: chart.x, y: chart.y, title: tooltip(chart)}))],
      };
    },
    waterfall: (chart, all, facet, width) => {
      let end = 0;
      const rows = defined(all, chart.x, chart.y).map((row) => ({...row, begin: end, end: (end += row[chart.x])}));
      const {margin, tickFormat} = names(rows, chart.y, width);
      return {
        height: 50 + 26 * rows.length, marginLeft: margin, marginRight: 90,
        x: axis(chart, "x"), y: {label: null, domain: rows.map((row) => row[chart.y]), tickFormat},
        marks: [Plot.barX(rows, {x1: "begin", x2: "end", y: chart.y, fill: "var(--accent)", insetTop: 3, insetBottom: 3}),
          Plot.text(rows, {x: "end", y: chart.y, text: (row) => `${number(row[chart.x])} (${d3.format(".0%")(end ? row[chart.x] / end : 0)})`,
            textAnchor: "start", dx: 4, fill: "currentColor"}),
          Plot.ruleX([0])],
      };
    },
    heatmap: (chart, all, facet, width) => {
      const rows = defined(all, chart.x, chart.y, chart.color);
      const values = (key) => d3.sort(new Set(rows.map((row) => row[key])), (v) => (isNaN(+v) ? v : +v));
      const [low, high] = d3.extent(rows, (row) => row[chart.color]);
      const {margin, tickFormat} = names(rows, chart.y, width);
      const dark = (row) => row[chart.color] < low + 0.6 * (high - low);
      return {
        height: 60 + 28 * values(chart.y).length, marginLeft: margin + 20,
        x: {label: chart.headings.x, domain: values(chart.x), type: "band"},
        y: {label: chart.headings.y, domain: values(chart.y), type: "band", tickFormat},
        color: {legend: true, label: chart.headings.color, scheme: "viridis", type: chart.color_scale === "log" ? "log" : "linear"},
        marks: [Plot.cell(rows, {x: chart.x, y: chart.y, fill: chart.color, inset: 0.5}),
          rows.length > 150 ? null : Plot.text(rows, {x: chart.x, y: chart.y, text: (row) => number(row[chart.color]),
            fill: (row) => (dark(row) ? "white" : "black")}),
          Plot.tip(rows, Plot.pointer({x: chart.x, y: chart.y, title: tooltip(chart)}))],
      };
    },
    // Indented, one node a line: chains of many steps stay readable.
    tree: (chart, rows) => {
      const known = new Set(rows.map((row) => row[chart.id]));
      const children = d3.group(rows, (row) => (known.has(row[chart.parent]) ? row[chart.parent] : null));
      const nodes = [], seen = new Set();
      const visit = (row, depth, above) => {
        if (seen.has(row[chart.id])) return;
        seen.add(row[chart.id]);
        const node = {...row, depth, line: nodes.length, above};
        nodes.push(node);
        for (const child of children.get(row[chart.id]) ?? []) visit(child, depth + 1, node);
      };
      for (const root of children.get(null) ?? []) visit(root, 0, null);
      const deepest = d3.max(nodes, (node) => node.depth);
      const step = Math.min(24, 240 / Math.max(deepest, 1));
      return {
        height: 20 + 22 * nodes.length, margin: 10,
        marginBottom: 10, x: {axis: null, type: "identity"}, y: {axis: null, type: "identity"},
        marks: [Plot.link(nodes.filter((node) => node.above), {x1: (n) => 12 + n.above.depth * step, x2: (n) => 12 + n.depth * step,
            y1: (n) => 16 + n.above.line * 22, y2: (n) => 16 + n.line * 22, curve: "step-before", stroke: "currentColor", strokeOpacity: 0.5}),
          Plot.dot(nodes, {x: (n) => 12 + n.depth * step, y: (n) => 16 + n.line * 22, r: 4, fill: "var(--accent)"}),
          Plot.text(nodes, {x: (n) => 22 + n.depth * step, y: (n) => 16 + n.line * 22, text: chart.label, textAnchor: "start", fill: "currentColor"})],
      };
    },
  };

  // Room for the names of a band axis, and the names shortened to it: what follows a comma goes first. On a phone they get
  // less than half.
  function names(rows, key, width) {
    const longest = d3.max(rows, (row) => String(row[key]).length) ?? 0;
    const most = Math.min(longest, Math.floor((Math.min(440, 0.42 * width) - 16) / characterWidth));
    const tickFormat = (name) => {
      const text = String(name), head = text.split(", ")[0];
      if (text.length <= most) return text;
      return head.length <= most ? head : `${text.slice(0, most - 1)}…`;
    };
    return {margin: 16 + characterWidth * most, tickFormat};
  }

  // How many facets are side by side, and how wide each is.
  function columnsOf(count, room) {
    const columns = Math.max(1, Math.min(count, Math.floor((room + gap) / (facetWidth + gap))));
    return {columns, width: Math.max(narrowest, Math.min(widest, (room - gap * (columns - 1)) / columns))};
  }

  const drawOne = (figure) => {
    const chart = JSON.parse(figure.querySelector("script").textContent);
    const rows = objects(chart);
    const facets = groups(rows, chart.facet);
    const several = facets.length > 1;
    const {columns, width} = columnsOf(facets.length, figure.clientWidth || widest);
    const holder = document.createElement("div");
    holder.className = several ? "facets" : "";
    if (several) holder.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    for (const [name, part] of facets) {
      const plot = Plot.plot({width, marginBottom: 40, style: {fontSize: `${fontSize}px`}, ariaLabel: chart.title, ariaDescription: chart.caption, ...marks[chart.kind](chart, part, name, width)});
      // The picture is one image with a name; Plot's names of its parts would be read as more of them.
      for (const svg of [plot, ...plot.querySelectorAll("svg")]) if (svg.matches("svg[aria-label]")) svg.setAttribute("role", "img");
      plot.querySelectorAll("g[aria-label]").forEach((part) => part.removeAttribute("aria-label"));
      const box = document.createElement("div");
      if (several || name) box.append(Object.assign(document.createElement("p"), {className: "facet", textContent: name}));
      box.append(plot);
      holder.append(box);
    }
    if (chart.truncated) holder.append(Object.assign(document.createElement("p"), {className: "note", textContent: `The first ${rows.length} points are drawn.`}));
    figure.querySelectorAll(":scope > div").forEach((old) => old.remove());
    figure.append(holder);
  };

  const draw = (root) => root.querySelectorAll("figure.chart").forEach(drawOne);
  return {draw};
})();
