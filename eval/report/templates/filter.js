"use strict";
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const field = (name) => form.elements.namedItem(name);
  const tasks = Array.from(document.querySelectorAll(".task"));
  const texts = tasks.map((task) => task.querySelector(".inside").firstElementChild.textContent.toLowerCase()
    + " " + task.querySelector(".id").textContent.toLowerCase());
  const outcomes = tasks.map((task) => task.dataset.outcomes.split(" ").map((pair) => pair.split(/:(?=[^:]*$)/)));

  const fits = (pairs, protocol, outcome) => {
    const chosen = protocol ? pairs.filter(([name]) => name === protocol) : pairs;
    if (!outcome) return chosen.length > 0;
    return chosen.some(([, result]) => outcome === "failed" ? result !== "passed" : result === outcome);
  };
  const apply = () => {
    const words = field("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const benchmark = field("benchmark") ? field("benchmark").value : "";
    let shown = 0;
    tasks.forEach((task, index) => {
      const visible = words.every((word) => texts[index].includes(word))
        && (!benchmark || task.dataset.benchmark === benchmark)
        && fits(outcomes[index], field("protocol").value, field("outcome").value);
      task.hidden = !visible;
      shown += visible ? 1 : 0;
    });
    form.querySelector("output").textContent = shown + " of " + tasks.length + " tasks";
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply();
})();
