// SPDX-License-Identifier: Apache-2.0
// Draws the charts in the colours of the page as it is shown: light, dark, or on paper.
"use strict";
(function () {
  const PAPER = 690; // pixels of a page of A4 between its margins
  const LETTER = 6.4; // pixels of a letter of a row's label, on average
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const print = matchMedia("print");
  const coarse = matchMedia("(pointer: coarse)").matches;
  let paper = print.matches;

  // Values such as "@engine" are names of colours in page.css.
  function coloured(value, style) {
    if (typeof value === "string" && value[0] === "@") {
      return style.getPropertyValue("--" + value.slice(1)).trim();
    }
    if (Array.isArray(value)) return value.map((item) => coloured(item, style));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, coloured(item, style)]));
    }
    return value;
  }

  function layoutOf(spec, style, width) {
    const layout = coloured(spec.layout, style);
    const ink = style.getPropertyValue("--ink").trim();
    const muted = style.getPropertyValue("--muted").trim();
    layout.font = { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: muted };
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.margin = Object.assign({ l: 6, r: 10, t: 10, b: 46 }, layout.margin || {});
    layout.hoverlabel = {
      bgcolor: style.getPropertyValue("--card").trim(), bordercolor: muted, font: { color: ink, size: 12.5 }, align: "left",
    };
    layout.hovermode = "closest";
    layout.dragmode = coarse ? false : "zoom";
    layout.width = width;
    for (const axis of [layout.xaxis, layout.yaxis]) {
      if (coarse) axis.fixedrange = true;
      axis.title = Object.assign({ standoff: 8 }, axis.title || {});
    }
    // Annotations on a logarithmic axis are placed by the exponent.
    if (layout.yaxis.type === "log") {
      for (const note of layout.annotations || []) note.y = Math.log10(note.y);
    }
    // Labels of rows that a narrow screen has no room for are written smaller.
    for (const note of layout.annotations || []) {
      const room = (width - layout.margin.l - layout.margin.r) / (note.text.length * LETTER);
      if (note.x === 0 && room < 1) note.font.size = Math.max(8, Math.floor(12 * room * 2) / 2);
    }
    for (const menu of layout.updatemenus || []) {
      Object.assign(menu, {
        bgcolor: style.getPropertyValue("--card").trim(), bordercolor: style.getPropertyValue("--line").trim(),
        font: { color: ink, size: 12 },
      });
    }
    return layout;
  }

  // What a button has chosen stays when the colours change.
  const chosen = {};

  function draw(place, spec) {
    const style = getComputedStyle(document.documentElement);
    const width = paper ? Math.min(PAPER, place.parentElement.clientWidth || PAPER) : place.parentElement.clientWidth;
    const layout = layoutOf(spec, style, width);
    const data = coloured(spec.data, style);
    if (place.id in chosen && layout.updatemenus) {
      const menu = layout.updatemenus[0];
      menu.active = chosen[place.id];
      const visible = menu.buttons[menu.active].args[1];
      data.forEach((trace, number) => { trace.visible = visible[number]; });
    }
    return Plotly.react(place, data, layout, { displayModeBar: false, responsive: false, scrollZoom: false }).then(() => {
      if (!place.dataset.ready) {
        place.on("plotly_buttonclicked", (event) => { chosen[place.id] = event.active; });
        place.dataset.ready = "yes";
      }
    });
  }

  const charts = [...document.querySelectorAll("script[data-chart]")].map((script) => [
    document.getElementById(script.dataset.chart), JSON.parse(script.textContent),
  ]);

  function all() {
    return Promise.all(charts.map(([place, spec]) => draw(place, spec)));
  }

  function onPaper(now) {
    if (paper === now) return;
    paper = now;
    for (const part of document.querySelectorAll("details:not(.screen)")) part.open = now;
    all();
  }

  let width = innerWidth;
  let timer = 0;
  addEventListener("resize", () => {
    if (innerWidth === width || paper) return;
    width = innerWidth;
    clearTimeout(timer);
    timer = setTimeout(all, 120);
  });
  dark.addEventListener("change", all);
  print.addEventListener("change", (event) => onPaper(event.matches));
  addEventListener("beforeprint", () => onPaper(true));
  addEventListener("afterprint", () => onPaper(false));
  if (paper) for (const part of document.querySelectorAll("details:not(.screen)")) part.open = true;
  all().then(() => { document.documentElement.dataset.drawn = String(charts.length); });
})();
