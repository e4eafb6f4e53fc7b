// The book's search: every word has to occur in a section; the book comes before the API, and sections whose title has
// the words come first. No server: the index is search_index.js beside the pages, so it works from file:// and offline. It is
// loaded when the field is used.
"use strict";

let bookIndexLoading = null;
function loadBookIndex() {
  bookIndexLoading ||= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = "search_index.js";
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
  return bookIndexLoading;
}

const apiPage = /^(class|struct|namespace)|_8(cuh|hpp)\.html/;

function searchBook(query, most = 30) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word);
  if (words.length === 0) return [];
  const phrase = words.join(" ");
  const found = [];
  for (const [address, page, section, text] of bookIndex) {
    const title = (page + " " + section).toLowerCase();
    const body = text.toLowerCase();
    if (!words.every((word) => title.includes(word) || body.includes(word))) continue;
    let rank = apiPage.test(address) ? 0 : 16;
    if (section.toLowerCase().includes(phrase)) rank += 8;
    if (page.toLowerCase().includes(phrase)) rank += 4;
    if (body.includes(phrase)) rank += 2;
    found.push({ address, page, section, text, rank });
  }
  return found.sort((a, b) => b.rank - a.rank).slice(0, most);
}

function excerpt(text, query) {
  const word = query.toLowerCase().trim().split(/\s+/)[0];
  const whole = text.toLowerCase().indexOf(query.toLowerCase().trim());
  const at = Math.max(0, (whole >= 0 ? whole : text.toLowerCase().indexOf(word)) - 50);
  return (at > 0 ? "..." : "") + text.slice(at, at + 150) + (at + 150 < text.length ? "..." : "");
}

function setUpSearch() {
  const field = document.getElementById("BookSearch");
  if (!field) return;
  let list = null;

  function close() {
    if (list) list.remove();
    list = null;
  }

  async function show() {
    await loadBookIndex();
    close();
    if (!field.value.trim()) return;
    list = document.createElement("div");
    list.id = "BookResults";
    const found = searchBook(field.value);
    for (const { address, page, section, text } of found) {
      const link = document.createElement("a");
      link.href = address;
      const title = document.createElement("b");
      title.textContent = section ? page + ": " + section : page;
      const words = document.createElement("small");
      words.textContent = excerpt(text, field.value);
      link.append(title, words);
      link.addEventListener("click", close);
      list.append(link);
    }
    if (found.length === 0) {
      const nothing = document.createElement("p");
      nothing.textContent = "Nothing has all of these words.";
      list.append(nothing);
    }
    const box = field.getBoundingClientRect();
    list.style.top = box.bottom + 6 + "px";
    document.body.append(list);
  }

  field.addEventListener("focus", loadBookIndex);
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key === "Enter" && list && list.querySelector("a")) list.querySelector("a").click();
    if (event.key === "ArrowDown" && list && list.querySelector("a")) {
      list.querySelector("a").focus();
      event.preventDefault();
    }
  });
  document.addEventListener("click", (event) => {
    if (list && !list.contains(event.target) && event.target !== field) close();
  });
  document.addEventListener("keydown", (event) => {
    const writing = /^(input|textarea|select)$/i.test(document.activeElement.tagName);
    if (event.key === "/" && !writing) {
      field.focus();
      event.preventDefault();
    }
    if (!list || !list.contains(document.activeElement)) return;
    const other = event.key === "ArrowDown" ? document.activeElement.nextElementSibling
      : event.key === "ArrowUp" ? document.activeElement.previousElementSibling : null;
    if (other) {
      other.focus();
      event.preventDefault();
    }
    if (event.key === "Escape") {
      close();
      field.focus();
    }
  });
}

// A link to something in a folded part unfolds it.
function unfold() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target; part; part = part.parentElement) {
    if (part.tagName === "DETAILS") part.open = true;
  }
}

// The page of devices shows one at a time, where there are several.
function setUpDevices() {
  const choice = document.getElementById("device-select");
  if (!choice) return;
  const parts = [...document.querySelectorAll("details.device")];
  const names = [...new Set(parts.map((part) => part.dataset.device))];
  if (names.length < 2) return;
  for (const name of ["all", ...names]) choice.append(new Option(name, name));
  choice.addEventListener("change", () => {
    for (const part of parts) part.hidden = choice.value !== "all" && part.dataset.device !== choice.value;
  });
  document.getElementById("device-choice").hidden = false;
}

// A table that a phone has no room for is stacked (book.css): no column is out of sight.
function setUpTables() {
  for (const table of document.querySelectorAll(".contents table.markdownTable, .contents table.book")) {
    table.classList.remove("stacked");
    const wide = [table.closest(".scroll") || table, ...table.tBodies].some((part) => part.scrollWidth > part.clientWidth + 1);
    if (innerWidth >= 768 || !wide) continue;
    table.classList.add("stacked");
    const heads = [...table.rows[0].cells].map((cell) => cell.textContent.trim());
    for (const cell of table.querySelectorAll("td:not(:first-child)")) {
      cell.dataset.head = heads[cell.cellIndex] || "";
      cell.toggleAttribute("data-empty", !cell.textContent.trim());
    }
  }
}

// What is wider than the window can be scrolled with the keyboard.
function setUpScrolling() {
  for (const part of document.querySelectorAll(".contents .fragment, .contents .markdownTable tbody, .contents .memproto")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

// The switch between light and dark is the theme's, and made for the mouse alone.
const drawSwitch = DoxygenAwesomeDarkModeToggle.prototype.updateIcon;
DoxygenAwesomeDarkModeToggle.prototype.updateIcon = function () {
  drawSwitch.call(this);
  this.tabIndex = 0;
  this.setAttribute("role", "button");
};
document.addEventListener("keydown", (event) => {
  if (!(event.target instanceof DoxygenAwesomeDarkModeToggle) || event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  event.target.click();
});

function fit() {
  setUpTables();
  setUpScrolling();
}

window.addEventListener("resize", fit);
document.addEventListener("toggle", fit, true);  // What is folded has no width yet.
window.addEventListener("hashchange", unfold);
document.addEventListener("DOMContentLoaded", () => {
  setUpSearch();
  setUpDevices();
  setUpExplorers();
  unfold();
  fit();
});
