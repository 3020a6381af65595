// The page is one function of what is known, drawn again whenever that changes.
import { h, patch, time } from "/app/dom.js";
import { state, begin } from "/app/talk.js";
import { list, needing } from "/app/list.js";
import { spec, task } from "/app/spec.js";

const page = () => {
  if (state.refused) {
    return h("main.refused", {}, h("h1", {}, "This link is no longer valid"), h("p.sum", {}, state.refused));
  }
  return h("div.app", { "data-view": state.key ? "spec" : "list" }, list(),
    h("main.main", {}, !state.online && state.since && h("p.lost", { key: "lost", role: "status" }, `Not connected since ${time(state.since)}; trying again.`),
      state.task ? task() : spec()));
};

let waits = false;
const draw = () => {
  if (waits) return;
  waits = true;
  requestAnimationFrame(() => {
    waits = false;
    const above = [...document.querySelectorAll(".log")].filter(log => log.scrollTop + log.clientHeight < log.scrollHeight - 8);
    patch(document.body, [page()]);
    for (const log of document.querySelectorAll(".log")) if (!above.includes(log)) log.scrollTop = log.scrollHeight;
    document.title = (needing() ? `(${needing()}) ` : "") + (state.now?.picture ? state.now.picture.spec + " · specum" : "specum");
  });
};
// Clocks stand still while the line is lost.
setInterval(() => { if (state.online && state.now?.picture?.atWork.length && !document.hidden) draw(); }, 1000);
addEventListener("visibilitychange", draw);
begin(draw);
