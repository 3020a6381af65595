// All specs, grouped as a person asks for them: what needs you comes first.
import { h, roughly, day, time, money } from "/app/dom.js";
import { state, link } from "/app/talk.js";

// How a spec may stand: what that is called, and its tone.
export const STANDS = {
  "needs-you": ["Needs you", "bad"], working: ["Working", "cool.live"], waiting: ["Waiting", "wary"], paused: ["Paused", "wary"],
  left: ["Nobody at work", "soft"], done: ["Done", "good"], "not-begun": ["Not begun", "soft"],
};
const WARY = ["approval", "question", "halted", "capped"];

export const needing = () => (state.specs || []).filter(s => s.standing === "needs-you").length;

const tells = s => {
  if (s.standing === "working" && s.left) return `${s.sentence}, about ${roughly(s.left)} left`;
  if (s.standing === "waiting") return `${s.sentence}, until ${time(s.until)}`;
  if (s.standing === "done") {
    return [day(s.last || Date.now()), s.cost != null && money(s.cost), s.sentence].filter(Boolean).join(", ");
  }
  return s.sentence;
};

const strip = s => {
  const part = (n, name, x) => n > 0 && h("rect." + name, { key: name, x: 100 * x / s.total, width: 100 * n / s.total, height: 4 });
  return h("svg.strip", { viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    s.total > 0 && [part(s.done, "done", 0), part(s.working, "run", s.done), part(s.failed, "stuck", s.done + s.working)]);
};

const row = s => {
  const tone = s.standing === "needs-you" ? (WARY.includes(s.kind) ? "wary" : "bad") : "soft";
  return h("a.spec", { key: s.key, href: link(s.key), "aria-current": s.key === state.key ? "page" : null },
    h("b", {}, s.spec), h("span.n", {}, `${s.done} of ${s.total}`), h("p." + tone, {}, tells(s)), strip(s));
};

export const list = () => {
  const specs = state.specs || [];
  const groups = Object.entries(STANDS).map(([key, [title]]) => {
    const own = specs.filter(s => s.standing === key), folds = key === "not-begun";
    return own.length > 0 && h(folds ? "details.group" : "div.group", { key },
      h(folds ? "summary" : "h2", {}, title, h("span", {}, own.length)), own.map(row));
  });
  const projects = [...new Set(specs.map(s => s.project))];
  return h("nav.side", { "aria-label": "Specs" },
    h("div.brand", {}, h(state.key ? "b" : "h1", {}, "specum"),
      h("span.link", {}, h(state.online ? "i.dot" : "i.dot.off", {}), state.online ? "live" : "not connected")),
    groups,
    state.specs && !specs.length && h("p.foot", {}, "No spec is here yet: write specs/<name>/tasks.md."),
    h("p.foot", { key: "foot" }, projects.join(" · "), h("br", {}),
      state.steers ? "This view can steer. It cannot start agents." : "This view can look."));
};
