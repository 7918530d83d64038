// Sorts tables by a click on a column's head, and unfolds remarks and appendix for print. Without it the tables stand in
// the order of measuring.
"use strict";
for (const head of document.querySelectorAll("table.sortable thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => sort(head));
}

function sort(head) {
  const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction);
  const sign = direction === "ascending" ? 1 : -1;
  const body = head.closest("table").tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, key: key(row.cells[head.cellIndex]) }));
  // Array.prototype.sort is stable: rows that are alike keep their order. Empty cells come last.
  rows.sort((a, b) => {
    if (a.key === "" || b.key === "") return (a.key === "") - (b.key === "");
    const numbers = typeof a.key === "number" && typeof b.key === "number";
    return sign * (numbers ? a.key - b.key : plain(a.key).localeCompare(plain(b.key), "en", { numeric: true }));
  });
  body.append(...rows.map((entry) => entry.row));
}

// Text with its numbers ungrouped, so that "user 10,000" comes before "user 1,000,000".
function plain(key) {
  return String(key).replace(/(\d),(?=\d{3})/g, "$1");
}

function key(cell) {
  if (!cell) return "";
  return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
}

// What a screen folds away for room belongs on paper all the same: remarks, and the appendix.
let unfolded = [];
addEventListener("beforeprint", () => {
  const folded = "details.remarks:not([open]), .appendix details:not([open])";
  unfolded = Array.from(document.querySelectorAll(folded));
  for (const details of unfolded) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of unfolded) details.open = false;
});
