// parts.js: what the pages of Meet are made of.

import { h, icon } from '/_shared/core.js';

// pill is a button with words in it.
export function pill(page, words, on, more = {}) {
  const { disabled, css = 'pill', ...attrs } = more;
  return h('button', { class: 'UywwFc-LgbsSe UywwFc-LgbsSe-OWXEXe-dgl2Hf', css, type: 'button', ...attrs, disabled: disabled || false, on: { click: on } },
    h('span', { class: 'UywwFc-kBDsod-Rtc0Jf', css: 'layer', 'aria-hidden': 'true', jsname: 'UkTUqb' }),
    h('span', { class: 'UywwFc-vQzf8d', jsname: 'V67aGc' }, words));
}

// round is a button with a picture, named by its label.
export function round(page, glyph, label, on, more = {}) {
  const { disabled, css = 'round', badge, drop, ...attrs } = more;
  return h('button', { class: 'VYBDae-Bz112c-LgbsSe VYBDae-Bz112c-LgbsSe-OWXEXe-SfQLQb-suEOdc', css, type: 'button', 'aria-label': label,
    ...attrs, drop: drop ?? {}, disabled: disabled || false, on: { click: on } }, icon(glyph), badge);
}

// device is the switch of the microphone or the camera. before the call it is a div with a role, in it a button.
export function device(page, which, before) {
  const { view } = page;
  const mic = which === 'mic';
  const on = mic ? !view.self.muted : view.camera;
  const blocked = mic && view.locked && !before;
  const trouble = page.has('mic-problem') && mic;
  const label = page.t(`${which}_${on ? 'on' : 'off'}`);
  const attrs = {
    class: before ? 'U26fgb JRY2Pb mUbCce' : 'VYBDae-Bz112c-LgbsSe', css: on ? 'round' : 'round off', key: which,
    jsname: mic ? 'hw0c9' : 'psRWwc', 'aria-label': label, 'data-is-muted': String(!on), 'data-tooltip': label,
    drop: { 'is-muted': 'data-is-muted', 'device-label': 'aria-label', 'device-jsname': 'jsname' },
    on: { click: () => { if (!blocked) page.tell(which === 'mic' ? 'mic' : 'cam', { on: !on }); } },
  };
  const glyph = icon(mic ? (on ? 'mic' : 'mic_off') : (on ? 'videocam' : 'videocam_off'));
  const mark = trouble ? h('div', { css: 'mark', role: 'img', 'aria-label': page.t('mic_problem') }, '!') : null;
  if (before) return h('div', { ...attrs, role: 'button', tabindex: 0 }, glyph, mark);
  return h('button', { ...attrs, type: 'button', disabled: blocked, 'aria-disabled': blocked ? 'true' : false }, glyph, mark);
}

// keys are the shortcuts that hold in the whole page, unless a dialog is open.
export function keys(page) {
  if (page.keyed) return;
  page.keyed = true;
  addEventListener('keydown', e => {
    if (!e.isTrusted || !e.ctrlKey || page.dialogs.length) return;
    const { view } = page;
    if (e.code === 'KeyD' && !e.altKey) { e.preventDefault(); if (!view.locked) page.tell('mic', { on: view.self.muted }); }
    if (e.code === 'KeyE' && !e.altKey) { e.preventDefault(); page.tell('cam', { on: !view.camera }); }
    if (e.code === 'KeyH' && e.altKey && view.screen === 'in') { e.preventDefault(); page.tell('hand', { on: !view.self.hand }); }
  });
}
