// Builds nodes from values and changes only what differs, so that focus, selection and what
// is written in a field survive. Text is set as text; nothing here parses markup.
const SVG = "http://www.w3.org/2000/svg";

// An element: "tag.class.class", its attributes (a function listens), and what is in it.
export const h = (name, attrs, ...kids) => {
  const [tag, ...classes] = name.split(".");
  if (classes.length) attrs = { class: classes.join(" "), ...attrs };
  return { tag, attrs, kids: kids.flat(9).filter(k => k != null && k !== false && k !== "") };
};

export const patch = (parent, kids) => {
  const known = new Map([...parent.childNodes].map(node => [node.specumKey, node]));
  const count = {};
  let at = parent.firstChild;
  for (const kid of kids) {
    const { tag = "#", attrs } = kid, isText = tag === "#";
    const key = tag + (attrs?.key == null ? count[tag] = (count[tag] || 0) + 1 : ":" + attrs.key);
    let node = known.get(key);
    known.delete(key);
    if (!node) {
      node = isText ? new Text() : tag === "svg" || tag === "rect" ? document.createElementNS(SVG, tag) : document.createElement(tag);
      node.specumKey = key;
    }
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
    if (!isText) { dress(node, attrs); patch(node, kid.kids); }
    else if (node.data !== String(kid)) node.data = kid;
  }
  for (const node of known.values()) node.remove();
};

const dress = (node, attrs) => {
  const worn = node.specumAttrs || {};
  for (const name of new Set([...Object.keys(worn), ...Object.keys(attrs)])) {
    const value = attrs[name];
    if (name === "key" || worn[name] === value) continue;
    if (typeof value === "function") {
      if (!worn[name]) node.addEventListener(name, event => node.specumAttrs[name](event));
    } else if (value == null) node.removeAttribute(name);
    else node.setAttribute(name, value);
  }
  node.specumAttrs = attrs;
};

// What people read.
const two = n => String(n).padStart(2, "0");
export const clock = ms => {
  const s = Math.max(0, Math.floor(ms / 1000)), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
  return h ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
};
export const roughly = ms => {
  const m = Math.max(1, Math.round(ms / 60000)), h = Math.floor(m / 60);
  return h ? (m % 60 ? `${h} h ${m % 60} min` : `${h} h`) : `${m} min`;
};
export const time = ms => ms == null ? "" : `${two(new Date(ms).getHours())}:${two(new Date(ms).getMinutes())}`;
export const day = ms => {
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(ms).setHours(0, 0, 0, 0)) / 864e5);
  return days === 0 ? time(ms) : days === 1 ? "yesterday" : new Date(ms).toLocaleDateString();
};
export const money = (cost, estimated) => (estimated ? "~" : "") + "$" + cost.toFixed(2);
export const tokens = n => n < 1000 ? String(n) : n < 1e6 ? Math.round(n / 1000) + "k" : (n / 1e6).toFixed(1) + "M";
// A sentence, in which code stands in backquotes.
export const code = text => String(text).split("`").map((part, at, all) =>
  at % 2 && at < all.length - 1 ? h("code", {}, part) : at % 2 ? "`" + part : part);
