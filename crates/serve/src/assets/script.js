// Searching, sorting, and progress that moves by itself. The pages work without this file.
"use strict";

const table = document.getElementById("runs");
const live = document.getElementById("live");

if (table) {
  search(document.getElementById("search"));
  sortable();
  ticks();
  follow(1000, updateList);
}
if (live) {
  follow(500, updatePage);
}

function rows() {
  return Array.from(table.tBodies[0].rows);
}

function search(field) {
  field.disabled = false;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows()) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}

function sortable() {
  table.querySelectorAll("th[data-key]").forEach((head) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => sort(head));
  });
}

function sort(head) {
  const down = head.getAttribute("aria-sort") === "ascending";
  table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => {
    const cell = row.cells[head.cellIndex];
    return cell.dataset.value ?? cell.textContent.trim();
  };
  const order = new Intl.Collator("en", { numeric: true });
  const sorted = rows().sort((a, b) => order.compare(value(a), value(b)));
  table.tBodies[0].append(...(down ? sorted.reverse() : sorted));
}

function ticks() {
  const button = document.querySelector(".tools button");
  const told = document.getElementById("told");
  const count = () => {
    const ticked = table.querySelectorAll("input:checked").length;
    button.disabled = ticked < 2 || ticked > 8;
    told.textContent = ticked > 8 ? "at most eight" : ticked === 1 ? "select one more" : "";
  };
  table.addEventListener("change", count);
  count();
}

// Asks again and again, one question at a time, while somebody looks.
function follow(pause, update) {
  const again = () => setTimeout(ask, pause);
  const ask = async () => {
    if (!document.hidden) {
      try {
        const response = await fetch("/api/progress");
        update(await response.json());
        document.body.dataset.followed = Number(document.body.dataset.followed ?? 0) + 1;
      } catch {
        // The server was stopped; it may come back.
      }
    }
    again();
  };
  ask();
}

// What is shown of a run depends on its state, so a change of that asks for the page anew.
const states = new Map();

function changed(runs) {
  const isFirst = states.size === 0;
  let is = false;
  for (const { run, state } of runs) {
    is ||= !isFirst && states.get(run) !== state;
    states.set(run, state);
  }
  return is;
}

function updateList(runs) {
  if (changed(runs) && table.querySelector("input:checked") === null) {
    location.reload();
    return;
  }
  for (const { run, live } of runs) {
    const row = rows().find((row) => row.dataset.run === run);
    if (row) {
      show(row, live);
    }
  }
}

function updatePage(runs) {
  const one = runs.find(({ run }) => run === live.dataset.run);
  if (!one || one.state !== "running") {
    location.reload();
    return;
  }
  show(live, one.live);
}

function show(place, now) {
  const bar = place.querySelector("progress");
  if (bar) {
    bar.max = Math.max(now.measurements, 1);
    bar.value = now.measurements_done;
  }
  const texts = {
    count: `${now.measurements_done} of ${now.measurements}`,
    cell: now.cell,
    phase: now.phase,
    trial: now.trial,
    elapsed: time(now.elapsed_seconds),
    eta: now.eta_seconds === null ? "unknown" : `about ${time(now.eta_seconds)}`,
  };
  for (const [key, text] of Object.entries(texts)) {
    const element = place.querySelector(`[data-live="${key}"]`);
    if (element) {
      element.textContent = text;
    }
  }
}

function time(seconds) {
  const whole = Math.floor(Math.max(seconds, 0));
  if (whole < 120) {
    return `${whole} s`;
  }
  if (whole < 7200) {
    return `${Math.floor(whole / 60)} min`;
  }
  return `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
}
