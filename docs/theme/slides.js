// One slide at a time: arrow keys, space, page keys, Home and End; the address keeps the place.
"use strict";

const slides = [...document.querySelectorAll("section")];
let shown = 0;

function show(number) {
  shown = Math.max(0, Math.min(slides.length - 1, number));
  slides.forEach((slide, place) => slide.classList.toggle("shown", place === shown));
  history.replaceState(null, "", "#" + (shown + 1));
}

function fit() {
  const scale = Math.min(innerWidth / 1280, innerHeight / 720);
  const left = (innerWidth - 1280 * scale) / 2;
  const top = (innerHeight - 720 * scale) / 2;
  document.querySelector("main").style.transform = `translate(${left}px, ${top}px) scale(${scale})`;
}

const moves = {
  ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, Enter: 1,
  ArrowLeft: -1, ArrowUp: -1, PageUp: -1, Backspace: -1, Home: -Infinity, End: Infinity,
};
document.addEventListener("keydown", (event) => {
  if (event.target.matches?.("input")) return;  // A figure's control has the arrow keys.
  if (!(event.key in moves) || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  show(shown + (event.shiftKey && event.key === " " ? -1 : moves[event.key]));
});
document.addEventListener("click", (event) => {
  if (!event.target.closest(".control")) show(shown + (event.clientX < innerWidth / 4 ? -1 : 1));
});
window.addEventListener("hashchange", () => show(Number(location.hash.slice(1)) - 1 || 0));
window.addEventListener("resize", fit);
slides.forEach((slide, place) => { slide.dataset.number = place + 1 + " / " + slides.length; });
setUpExplorers();
fit();
show(Number(location.hash.slice(1)) - 1 || 0);
