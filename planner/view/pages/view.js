"use strict";
(() => {
  const run = document.getElementById("run");
  if (!run) return;
  const doing = run.querySelector("[role=status]"), seconds = run.querySelector(".seconds");
  const look = async () => {
    try {
      const answer = await fetch(run.dataset.state);
      const state = answer.ok ? await answer.json() : {over: true};
      if (state.over) return location.reload();
      if (doing.textContent !== state.doing) doing.textContent = state.doing;
      seconds.textContent = state.seconds;
      setTimeout(look, 500);
    } catch {
      doing.textContent = "The planner does not answer any more; was it stopped?";
      run.querySelector("progress").remove();
    }
  };
  setTimeout(look, 300);
})();
