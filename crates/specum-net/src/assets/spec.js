// One spec: what it needs of you, who is at work on what, what comes next.
import { h, clock, roughly, time, money, tokens, code } from "/app/dom.js";
import { state, link, say, report, change } from "/app/talk.js";
import { STANDS } from "/app/list.js";

const STAGES = { starting: "starts", working: "works", checking: "checking", ended: "has ended", ready: "passed, waits its turn" };
const ACTS = {
  "pause-after": ["Pause after these", () => say("pause", { after: "task" }, "It pauses once these are over.")],
  pause: ["Pause now", () => say("pause", {}, "Paused.")],
  resume: ["Resume", () => say("resume", {}, "It goes on.")],
  approve: ["Approve", () => say("approve", {}, "Approved; it goes on.")],
};

const set = (name, value) => change({ ui: { ...state.ui, [name]: value } });
const button = (text, click, kind = "", key = text) => h("button.act" + kind, { key, type: "button", click }, text);
// What ends or leaves out work is asked once more.
const sure = (name, text, kind, ...said) => state.ui.sure === name
  ? button(`Really ${text.toLowerCase()}?`, () => { set("sure", null); say(...said); }, kind, name)
  : button(text, () => set("sure", name), kind, name);
const skip = (task, text, kind) => sure("skip-" + task, text, kind, "skip", { task }, `${task} is skipped.`);

// What one can say now. A spec that nobody works shows what to type instead.
const acts = (p, kind = "") => !state.steers ? [] : p.acts.filter(a => ACTS[a] && !(p.command && (a === "resume" || a === "approve")))
  .map((a, at) => button(p.need?.kind === "blocked" && a === "resume" ? "Give it another round" : ACTS[a][0], ACTS[a][1], at ? "" : kind));

const sum = p => {
  const b = text => h("b", {}, text), w = p.waiting;
  return h("p.sum", {}, b(`${p.done} of ${p.total}`), " done", p.atWork.length > 0 && [", ", b(p.atWork.length), " at work"], ". ",
    p.left && ["About ", b(roughly(p.left)), " left. "],
    p.cost != null ? [b(money(p.cost, p.estimated)), p.maxCost && ` of ${money(p.maxCost)}`, " spent. "]
      : p.tokens != null && [b(tokens(p.tokens)), p.maxTokens && ` of ${tokens(p.maxTokens)}`, " tokens. "],
    p.unproved > 0 && `${p.unproved} unproved. `, w && `${w.agent} may work again at ${time(w.until)}: ${w.why}`);
};

const KINDS = { done: "done", working: "run", failed: "stuck", again: "stuck" };
const tapes = p => {
  const open = p.total - p.done - p.atWork.length;
  return h("div.tapes", { role: "img", "aria-label": `${p.done} tasks done, ${p.atWork.length} at work, ${open} open` }, p.phases.map((f, at) => h("div", { key: at, class: "g" + Math.min(12, f.tasks.length) },
      h("svg.tape", { viewBox: "0 0 100 12", preserveAspectRatio: "none" }, f.tasks.map((t, n) => {
        const each = 100 / f.tasks.length, gap = f.tasks.length > 40 || n === f.tasks.length - 1 ? 0 : Math.min(1.1, each / 4);
        return h("rect", { key: n, class: KINDS[t.state] || "open", x: (each * n).toFixed(2), width: (each - gap).toFixed(2), height: 12 });
      })), h("p", {}, f.title))));
};

const form = (id, label, field, send, verb, more) => h("form.compose", {
  key: id, submit: async event => {
    event.preventDefault();
    const written = event.target.elements[id];
    if (written.value.trim() && await send(written.value)) written.value = "";
  },
}, h("label", { for: id }, label), h(field, { id, maxlength: 4000, autocomplete: "off" }),
  h("div.acts", {}, h("button.act", { type: "submit" }, verb), more));
const note = (id, task, label) => state.steers && form(id, label || `Goes into the brief of every further attempt at ${task}, until it passes`,
  "textarea", text => say("note", { task, text }, `Noted for ${task}.`), "Send");

const need = p => {
  const n = p.need;
  if (!n) return null;
  return h("div.need", {}, h("h2", {}, n.what), n.why && h("p", {}, code(n.why)),
    n.output && h("pre", { tabindex: 0, "aria-label": "The end of what its check printed" }, n.output),
    n.task && note("need-note", n.task, "A word to the next attempt"),
    state.steers && h("div.acts", {}, acts(p, ".primary"), n.task && skip(n.task, "Skip it and go on")));
};

const command = p => p.command && h("div.type", {},
  h("p", {}, `Nobody works on it. To ${p.began ? "go on" : "begin"}, type:`), h("code", { tabindex: 0 }, p.command));

const lane = work => {
  const { task } = work, { used, list = [] } = state.words[task] || {}, id = "note-" + task;
  const spent = (work.tokens || 0) + (used?.tokens || 0), cost = (work.cost || 0) + (used?.cost || 0);
  const doing = work.stage === "checking" ? work.command : work.stage === "working" && list.findLast(w => w.kind === "tool")?.text;
  const facts = [work.place > 1 && `attempt ${work.place}`, work.agent, work.since && clock((state.since || Date.now()) - work.since), spent > 0 && tokens(spent), cost > 0 && money(cost)];
  return h("article.lane", { key: task, "aria-label": `${task} ${work.title}` },
    h("div.lh", {}, h("a.id", { href: link(state.key, task) }, task), h("b", {}, work.title),
      h("span.facts", {}, facts.map(fact => fact && h("span", {}, fact)))),
    h("div.now", {}, h(/^(start|work)/.test(work.stage) ? "span.tag" : "span.tag.good", {}, STAGES[work.stage]), doing && h("code", {}, doing),
      state.steers && h("div.la", {},
        button("Note", () => set("note", state.ui.note === id ? null : id), ".plain"),
        sure("retry-" + task, "Start over", ".plain", "retry", { task }, `${task} begins anew.`), skip(task, "Skip", ".plain"))),
    list.length > 0 && h("div.log", { tabindex: 0, role: "log", "aria-label": `What the agent of ${task} says` },
      list.map(w => h(w.kind === "words" ? "p" : w.kind === "tool" ? "p.t" : "p.t.bad", { key: work.place + "-" + w.n }, w.text))),
    !work.agent && h("p.soft", {}, "A session works on it: its words are in its own window."),
    state.ui.note === id && note(id, task));
};

const sentence = told => told.what.map(piece => piece.task != null
  ? h("a", { href: link(state.key, piece.task) }, piece.task) : piece.code != null ? h("code", {}, piece.code) : piece.text);
const feed = told => h("div.feed", {}, told.map((t, at) => [h("time", { key: at }, time(t.at)),
  h("span", { key: at }, h("span." + (t.tone === "plain" ? "soft" : t.tone), {}, sentence(t)), t.why && ": ", t.why && code(t.why))]));

const cancel = name => state.ui.cancel
  ? form("cancel", `Ends the loop; plan, commits and history stay. Type ${name} to confirm`, "input",
    typed => say("cancel", { name: typed }, "Cancelled."), "Cancel the loop", button("Keep it", () => set("cancel", false), ".plain"))
  : h("p.end", {}, button("Cancel the loop…", () => set("cancel", true), ".plain"));

const bar = (p, back) => h("div.bar", {}, h("a.back.act.plain.keep", { href: back ? link(state.key) : "#" }, back ? "‹ " + p.spec : "‹ All specs"),
  h("span.state." + STANDS[p.standing][1], {}, h("i", {}), STANDS[p.standing][0]), h("span.soft", {}, [state.now.project, p.branch && "branch " + p.branch].filter(Boolean).join(", ")),
  h("span.grow", {}), button("Report", report, ".plain"), !p.need && acts(p));

const said = () => h(state.said?.bad ? "p.said.bad" : "p.said", { role: "status" }, state.said?.text);

const section = (title, ...kids) => h("section", { key: title }, h("h2", {}, title), kids);

export const spec = () => {
  if (!state.now) return h("div.wrap", {}, h("p.soft", {}, state.key ? "Looking…" : "Choose a spec."));
  if (state.now.gone) {
    return h("div.wrap", {}, h("a.back.act.plain.keep", { href: "#" }, "‹ All specs"), h("h1", {}, "It is gone"));
  }
  const p = state.now.picture;
  return h("div.wrap", { key: state.key }, bar(p), h("h1", {}, p.spec), sum(p), tapes(p), said(), need(p), command(p),
    p.atWork.length > 0 && section("At work", p.atWork.map(lane)),
    p.need?.tries.length > 0 && section("Its attempts", feed(p.need.tries.map(t => ({ at: t.at, tone: "bad", what: [{ text: `${t.place} failed` }], why: t.why })))),
    h("div.two", {},
      p.next.length > 0 && section("Next", h("ul.next", {}, p.next.map(t => h("li", { key: t.id },
        h("a.id", { href: link(state.key, t.id) }, t.id), h("span", {}, t.title), !t.hasCheck && h("span.r", {}, "nothing to run"))))),
      p.justNow.length > 0 && section("Just now", feed(p.justNow))),
    state.steers && p.acts.includes("cancel") && cancel(p.spec),
    h("div.dock", {}, button("Report", report), acts(p, ".primary").slice(0, 1)));
};

const RESULTS = { passed: "good", failed: "bad", "set-aside": "wary", waits: "wary", open: "cool" };
const tried = a => h("article.lane", { key: a.place },
  h("div.lh", {}, h("b." + (RESULTS[a.result] || "soft"), {}, `Attempt ${a.place}: ${a.result === "open" ? "under way" : a.result.replace("-", " ")}`),
    h("span.facts", {}, h("span", {}, a.agents.join(", ")), h("span", {}, time(a.from)), a.cost != null && h("span", {}, money(a.cost, a.estimated)))),
  [...a.reasons, ...a.sentBack, a.check && `Its check ${a.check}.`].map((why, at) => why && h("p", { key: at }, code(why))),
  a.output && a.result !== "passed" && h("pre", { tabindex: 0 }, a.output),
  a.words.length > 0 && h("details", {}, h("summary", {}, "What the agent said"),
    a.words.map(w => w.words ? h("p", {}, w.words) : h("p.t", {}, w.tool || w.trouble || "…"))));
const file = f => h("details", { key: f.path }, h("summary", {}, f.path, h("span.soft", {}, ` +${f.added} −${f.removed}`)),
  h("pre.diff", { tabindex: 0 }, f.text || "`git show` has it"));

export const task = () => {
  const t = state.opened, p = state.now?.picture, key = "t" + state.task;
  if (!p || !t?.id) return h("div.wrap", { key }, p?.spec && bar(p, true), h("p.sum", {}, t?.error || "Looking…"));
  return h("div.wrap", { key }, bar(p, true), h("h1", {}, `${t.id} ${t.title}`), said(),
    p.acts.length > 0 && t.state !== "done" && note("task-note", t.id),
    section("What was asked", h("dl", {}, t.asked.map(a => [h("dt", {}, a.name), h("dd", {}, a.is_code ? h("code", {}, a.text) : a.text)]))),
    t.attempts.length > 0 && section("What happened", t.attempts.map(tried)),
    t.evidence.length > 0 && section("Why it counts as done", t.evidence.map(e => h("p", {}, e.is_good ? "✓ " : "△ ", sentence(e)))),
    t.commits.length > 0 && section("What changed", t.commits.map(c => h("div", { key: c.id }, h("p", {}, h("code", {}, c.id.slice(0, 7)), " ", c.subject), c.files.map(file)))));
};
