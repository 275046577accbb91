// core.js: what every stand-in page does: it is told what to show, draws it, and tells what was done on it.
//
// A page is a function from what it is told (a view) to a tree of elements. The tree may be mutated before it is
// drawn; drawing changes only what is different, so that elements live as long as on a real page.

import { mutator } from './mutate.js';

// h makes an element of the tree. Attributes with a meaning of their own:
//   class    names, which a mutation may change     css     the name that the style sheet knows
//   key      tells brothers apart                    on      handlers by event
//   sign     a name by which a mutation leaves the element out; "drop" maps names to attributes that are left out
//   shuffle  the children's order means nothing      words   the element is there for its words
//   prop     properties to set                       shadow  the children stand in an open shadow root
//   keep     somebody else fills it                  init    called with a new element
export function h(tag, attrs, ...kids) {
  return { tag, attrs: attrs ?? {}, kids: kids.flat(9).filter(k => k !== null && k !== undefined && k !== false && k !== '') };
}

// icon is a glyph of the icon font: its name is text of the page, and only looks like a picture.
export function icon(name) {
  return h('i', { class: 'google-material-icons notranslate', css: 'icon', 'aria-hidden': 'true', drop: { ligatures: 'text' } }, name);
}

const SVG = new Set(['svg', 'path', 'rect', 'circle', 'use', 'g']);
const OWN = new Set(['class', 'css', 'key', 'on', 'sign', 'drop', 'shuffle', 'words', 'prop', 'shadow', 'keep', 'init']);

function create(v) {
  if (typeof v !== 'object') return document.createTextNode(v);
  const el = SVG.has(v.tag) ? document.createElementNS('http://www.w3.org/2000/svg', v.tag) : document.createElement(v.tag);
  if (v.attrs.shadow) el.attachShadow({ mode: 'open' }).append(styleSheet());
  dress(el, {}, v.attrs);
  fill(el, [], v);
  v.attrs.init?.(el);
  return el;
}

// styleSheet is the page's own style, for a shadow root.
function styleSheet() {
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = document.querySelector('link[rel=stylesheet]').href;
  return link;
}

function dress(el, before, now) {
  for (const name of Object.keys(before)) {
    if (OWN.has(name) || name in now) continue;
    el.removeAttribute(name);
  }
  for (const [name, value] of Object.entries(now)) {
    if (OWN.has(name)) continue;
    if (value === false || value === null || value === undefined) el.removeAttribute(name);
    else if (el.getAttribute(name) !== String(value)) el.setAttribute(name, value === true ? '' : value);
  }
  if ((before.class ?? '') !== (now.class ?? '') || (before.css ?? '') !== (now.css ?? '')) {
    if (now.class) el.setAttribute('class', now.class);
    else el.removeAttribute('class');
    if (now.css) el.setAttribute('data-s', now.css);
    else el.removeAttribute('data-s');
  }
  for (const name of Object.keys(before.on ?? {})) if (!now.on?.[name]) el['on' + name] = null;
  for (const [name, f] of Object.entries(now.on ?? {})) el['on' + name] = f;
  for (const [name, value] of Object.entries(now.prop ?? {})) if (el[name] !== value) el[name] = value;
}

const keyOf = (v, i) => typeof v !== 'object' ? `#${i}` : v.attrs.key !== undefined ? `k:${v.attrs.key}` : `${v.tag}:${i}`;

function fill(el, before, v) {
  if (v.attrs.keep) return; // somebody else fills it
  const host = v.attrs.shadow ? el.shadowRoot : el;
  const old = new Map();
  before.forEach((o, i) => old.set(keyOf(o, i), o));
  const nodes = [];
  v.kids.forEach((k, i) => {
    const was = old.get(keyOf(k, i));
    old.delete(keyOf(k, i));
    if (was && typeof was === 'object' && typeof k === 'object' && was.tag === k.tag && was.attrs.shadow === k.attrs.shadow) {
      k.node = was.node;
      dress(k.node, was.attrs, k.attrs);
      fill(k.node, was.kids, k);
      nodes.push(k.node);
    } else if (typeof k !== 'object') {
      const text = before.length === v.kids.length && typeof before[i] !== 'object' ? host.childNodes[i] : null;
      if (text?.nodeType === 3 && before[i] === k) nodes.push(text);
      else nodes.push(document.createTextNode(k));
    } else {
      k.node = create(k);
      nodes.push(k.node);
    }
  });
  const fixed = v.attrs.shadow ? 1 : 0; // the style sheet stays
  nodes.forEach((n, i) => {
    const at = host.childNodes[i + fixed];
    if (at !== n) host.insertBefore(n, at ?? null);
  });
  while (host.childNodes.length > nodes.length + fixed) host.lastChild.remove();
}

// Page is the life of a page. draw(view, page) gives the tree; words are the page's texts by language.
export class Page {
  constructor({ words, draw, media, seen }) {
    this.words = words;
    this.draw = draw;
    this.media = media;
    this.seen = seen;
    this.view = null;
    this.local = {}; // what only the page knows: which panel is open
    this.drawn = { tag: 'body', attrs: {}, kids: [] };
    this.connect();
  }

  connect() {
    const url = new URL('/_standin/page', location.href);
    url.protocol = 'ws:';
    url.searchParams.set('at', location.pathname + location.search);
    this.socket = new WebSocket(url);
    this.socket.onmessage = e => this.hear(JSON.parse(e.data));
  }

  hear(message) {
    switch (message.type) {
      case 'hello':
        this.hello = message;
        this.mutate = mutator(message.mutation);
        break;
      case 'view': {
        const before = this.view;
        this.view = message.view;
        this.seen?.(this.view, before, this);
        this.media?.follow(this.view, this);
        this.redraw();
        break;
      }
      case 'hang': {
        const until = performance.now() + message.ms;
        while (performance.now() < until);
        break;
      }
      case 'reload':
        location.reload();
    }
  }

  // tell says what was done.
  tell(act, more = {}) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ do: act, ...more }));
  }

  // set changes what only the page knows, and draws it.
  set(changes) {
    Object.assign(this.local, changes);
    this.redraw();
  }

  // after draws again in a while: for what comes late.
  after(ms) {
    setTimeout(() => this.redraw(), ms);
  }

  has(flag) {
    return this.view.flags?.includes(flag) ?? false;
  }

  // t gives a text in the page's language. A mutation may take another wording.
  t(key, values = {}) {
    const lang = this.words[this.view.lang] ?? this.words.en;
    const all = lang.seen?.[key] ?? lang.guess?.[key] ?? this.words.en.seen?.[key] ?? this.words.en.guess?.[key] ?? [key];
    const text = all[this.mutate.wording(key, all.length)];
    return text.replace(/\{(\w+)\}/g, (whole, name) => Object.hasOwn(values, name) ? String(values[name]) : whole);
  }

  // since is how long something has been so, in milliseconds: the first call starts the clock.
  since(what) {
    this.clocks ??= new Map();
    if (!this.clocks.has(what)) this.clocks.set(what, performance.now());
    return performance.now() - this.clocks.get(what);
  }

  forget(what) {
    this.clocks?.delete(what);
  }

  // late says whether something is still to come that is late by that much, and draws again when it has come.
  late(what, ms) {
    const left = ms - this.since(what);
    if (left > 0) this.after(left + 5);
    return left > 0;
  }

  // dialogs are those that are open and have come.
  get dialogs() {
    return (this.view.dialogs ?? []).filter(d => !this.late('dialog ' + d.id, this.mutate.dialogMS));
  }

  // ready says whether a button that was just shown works already.
  ready(what, ms = 0) {
    return !this.late('button ' + what, ms + this.mutate.buttonMS);
  }

  answer(dialog, effect, button) {
    this.tell('answer', { dialog: dialog.id, effect, button });
  }

  redraw() {
    if (!this.view) return;
    document.documentElement.lang = this.view.lang;
    const tree = h('body', {}, this.view.screen === 'blank' ? [] : this.draw(this.view, this));
    const body = { tag: 'body', attrs: {}, kids: this.mutate.tree(tree).kids };
    fill(document.body, this.drawn.kids, body);
    this.drawn = body;
  }
}
