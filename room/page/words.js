// words.js: the page's words in the reader's language.

let words = {}, english = {};
export let language = 'en';

// load picks a language: the one asked for in the address, else the browser's, else English.
export async function load() {
  const all = await (await fetch(new URL('strings.json', import.meta.url))).json();
  const asked = new URLSearchParams(location.search).get('lang');
  const wanted = [asked, ...(navigator.languages ?? [navigator.language])];
  language = wanted.filter(Boolean).map(w => w.toLowerCase().split('-')[0]).find(w => Object.hasOwn(all, w)) ?? 'en';
  english = all.en;
  words = all[language];
  document.documentElement.lang = language;
  for (const e of document.querySelectorAll('[data-t]')) e.textContent = t(e.dataset.t);
  for (const e of document.querySelectorAll('[data-t-label]')) e.setAttribute('aria-label', t(e.dataset.tLabel));
  for (const e of document.querySelectorAll('[data-t-placeholder]')) e.setAttribute('placeholder', t(e.dataset.tPlaceholder));
}

// t gives a text, with {names} in it replaced by values.
export function t(key, values = {}) {
  const text = words[key] ?? english[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => Object.hasOwn(values, name) ? String(values[name]) : whole);
}

// apart keeps the direction of a name's letters from turning the sentence around it.
export function apart(name) { return `\u2068${name}\u2069`; }
