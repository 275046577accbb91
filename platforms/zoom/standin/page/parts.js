// parts.js: what the pages of Zoom are made of.

import { h } from '/_shared/core.js';

export function svg(name) {
  return h('svg', { class: name, viewBox: '0 0 24 24', width: 20, height: 20, 'aria-hidden': 'true' }, h('path', { d: 'M4 12h16M12 4v16' }));
}

// button is one with words in it.
export function button(words, on, more = {}) {
  const { disabled, css = 'button', ...attrs } = more;
  return h('button', { type: 'button', css, ...attrs, disabled: disabled || false, on: { click: on } }, words);
}

// foot is a button of the bar: a picture with words below.
export function foot(page, label, words, picture, on, more = {}) {
  const { badge, name = 'foot-label', ...attrs } = more;
  return h('div', { class: 'footer-button__wrapper', css: 'foot', key: more.key },
    h('button', { type: 'button', class: 'footer-button-base__button ax-outline', css: 'footbutton', 'aria-label': label, drop: { [name]: 'aria-label' }, ...attrs, key: 'b', on: { click: on } },
      h('div', { class: 'footer-button-base__img-layer' }, svg(picture), badge),
      h('span', { class: 'footer-button-base__button-label' }, words)));
}

// keys are the shortcuts that hold in the whole page.
export function keys(page) {
  if (page.keyed) return;
  page.keyed = true;
  addEventListener('keydown', e => {
    const { view } = page;
    if (!e.isTrusted || !e.altKey || e.ctrlKey || view.screen !== 'in') return;
    if (e.code === 'KeyA' && view.audio) { e.preventDefault(); page.tell('mic', { on: view.self.muted }); }
    if (e.code === 'KeyV') { e.preventDefault(); page.tell('cam', { on: !view.camera }); }
    if (e.code === 'KeyY') { e.preventDefault(); page.tell('hand', { on: !view.self.hand }); }
  });
}
