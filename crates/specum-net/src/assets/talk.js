// Talks to the server: the token of the link, one stream of news, and what a person says.
const KEY = "specum-token", NONE = { now: null, opened: null, said: null };
export const state = { ...NONE, specs: null, key: null, task: null, steers: false, online: false, since: null, refused: null, words: {}, ui: {} };
let draw, stream, wait = 1;
export const change = more => { Object.assign(state, more); draw(); };

// The token is taken out of the address before anybody can pass it on.
const follow = () => {
  const token = /^#k=([0-9a-f]+)/.exec(location.hash);
  if (token) {
    sessionStorage.setItem(KEY, token[1]);
    history.replaceState(null, "", "/");
  }
  const at = new URLSearchParams(location.hash.slice(1)), key = at.get("s"), task = at.get("t");
  if (key !== state.key || token) Object.assign(state, NONE, { key, words: {}, ui: {} });
  change({ task, opened: null });
  scrollTo(0, 0);
  listen();
  if (task) open();
};
export const begin = show => {
  draw = show;
  addEventListener("hashchange", follow);
  follow();
};
export const link = (key, task) => "#s=" + key + (task == null ? "" : "&t=" + encodeURIComponent(task));

const ask = (path, options) => fetch("/api/" + path, {
  cache: "no-store", credentials: "omit", ...options,
  headers: { Authorization: "Bearer " + (sessionStorage.getItem(KEY) || ""), "Content-Type": "application/json" },
});
const post = (what, words) => ask(`specs/${state.key}/${what}`, { method: "POST", body: JSON.stringify(words || {}) });

const open = async () => {
  const { key, task } = state;
  const opened = await ask(`specs/${key}/tasks/${encodeURIComponent(task)}`).then(a => a.json(), () => null);
  if (key === state.key && task === state.task) change({ opened });
};

const listen = async () => {
  stream?.abort();
  const own = stream = new AbortController(), { signal } = own;
  try {
    const first = await ask("specs", { signal });
    if (first.status === 401 || first.status === 429) return change({ refused: await first.text() });
    const { steers } = await first.json();
    const answer = await ask("stream" + (state.key ? "?spec=" + state.key : ""), { signal });
    if (!answer.ok) throw answer;
    wait = 1;
    change({ steers, refused: null, online: true, since: null });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "", alive; ;) {
      // The server says something every 15 s.
      alive = setTimeout(() => own.abort(), 40000);
      const { value, done } = await reader.read();
      clearTimeout(alive);
      if (done) break;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(part) || [];
        if (event && own === stream) hear[event]?.(JSON.parse(data));
      }
      draw();
    }
  } catch { /* The line is lost. */ }
  if (own !== stream) return;
  setTimeout(() => own === stream && listen(), wait * 1000);
  wait = Math.min(wait * 2, 30);
  change({ since: state.since || Date.now(), online: false });
};

const hear = {
  specs: specs => { state.specs = specs; },
  picture: now => {
    const last = state.now?.picture?.last;
    state.now = now || { gone: true };
    if (state.task && now?.picture.last !== last) open();
  },
  signs: ({ task, start, used, words }) => {
    const known = state.words[task];
    state.words[task] = { start, used, list: [...(known?.start === start ? known.list : []), ...words].slice(-200) };
  },
};

// Says something, and tells whether it was taken.
export const say = async (verb, words, done) => {
  try {
    const answer = await post(verb, words), text = await answer.text();
    change({ said: answer.ok ? { text: done } : { text: text[0] === "{" ? JSON.parse(text).error : text, bad: true } });
    return answer.ok;
  } catch {
    change({ said: { text: "not sent: the line is lost", bad: true } });
  }
};

// A report has an address that counts once; its page is opened while the click still allows it.
export const report = async () => {
  const page = window.open("about:blank", "_blank");
  if (page) page.opener = null;
  const path = await post("report").then(a => a.json()).then(a => a.path, () => null);
  if (path) (page || window).location.replace(path);
  else page?.close();
};
