"use strict";

// A drawing with a control: one frame for each of its values, of which one is seen.
function setUpExplorers() {
  for (const figure of document.querySelectorAll(".explore")) {
    const input = figure.querySelector("input");
    const [shown, counted] = figure.querySelectorAll("output");
    const frames = [...figure.querySelectorAll(".frames > div")];
    const show = () => {
      const chosen = frames[Number(input.value)];
      for (const frame of frames) frame.hidden = frame !== chosen;
      shown.textContent = chosen.dataset.value;
      input.setAttribute("aria-valuetext", chosen.dataset.value);
      if (counted) counted.textContent = chosen.dataset.counts;
    };
    input.addEventListener("input", show);
    show();  // A browser may keep where the control stood.
  }
}
