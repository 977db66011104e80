"use strict";
(() => {
  const FILTERED_FROM = 12;
  const key = cell => {
    const figure = cell.querySelector(".n");
    return figure ? figure.dataset.v : cell.textContent.trim();
  };
  const number = text => /^-?[0-9.]+(e-?[0-9]+)?$/.test(text) ? Number(text) : NaN;
  const compare = (a, b) => {
    const x = number(a), y = number(b);
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    return Number.isNaN(x) ? a.localeCompare(b) : x - y;
  };
  const sort = (table, head, place) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, at) => [key(row.cells[place]), at, row]);
    rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])) || a[1] - b[1]);
    body.append(...rows.map(row => row[2]));
  };
  const filter = (table, words) => {
    const wanted = words.toLowerCase().split(/\s+/);
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every(word => text.includes(word));
    }
  };
  for (const table of document.querySelectorAll("table")) {
    const rows = table.tBodies[0].rows.length;
    if (rows < 2) continue;
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      if (!head.textContent) return;
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-label", "Sort by " + head.textContent);
      button.addEventListener("click", () => sort(table, head, place));
      head.classList.add("s");
      head.append(button);
    });
    if (rows < FILTERED_FROM) continue;
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Filter rows";
    input.setAttribute("aria-label", "Filter rows: " + table.caption.textContent);
    input.addEventListener("input", () => filter(table, input.value));
    table.parentNode.before(input);
  }
  const trace = document.getElementById("trace");
  const tell = event => {
    const figure = event.target.closest && event.target.closest(".n");
    trace.textContent = figure ? (/^\w+\.json: /.test(figure.title) ? "" : "plan.json: ") + figure.title : "";
  };
  for (const name of ["focusin", "mouseover"]) document.addEventListener(name, tell);
  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const fold = target && target.closest("details");
    if (fold && !fold.open) { fold.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();
})();
