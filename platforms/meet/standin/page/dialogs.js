// dialogs.js: what stands in the way.

import { h } from '/_shared/core.js';
import { pill } from './parts.js';

// kinds say what a dialog holds: words, and buttons with what they do. No buttons means a button "Got it".
const kinds = {
  'gate-recording': { words: 'gate_recording', buttons: [['gate_leave', 'leave', 'cancel'], ['gate_join', 'accept', 'ok']] },
  'gate-transcribing': { words: 'gate_transcribing', buttons: [['gate_leave', 'leave', 'cancel'], ['gate_join', 'accept', 'ok']] },
  'gate-notes': { words: 'gate_notes', buttons: [['gate_leave', 'leave', 'cancel'], ['gate_join', 'accept', 'ok']] },
  'gate-addon': { words: 'gate_addon', buttons: [['gate_leave', 'leave', 'cancel'], ['gate_join', 'accept', 'ok']] },
  devices: { words: 'use_devices', buttons: [['use_devices', 'close'], ['without_devices', 'devices-off']] },
  tip: { words: 'differently', buttons: [['got_it', 'close']] },
  safe: { words: 'safe', buttons: [['dismiss', 'close']] },
  cookies: { words: 'cookies', buttons: [['reject', 'close'], ['accept', 'close']] },
  survey: { words: 'survey', buttons: [['skip', 'close']] },
  unknown: { words: 'unknown_text', title: 'unknown_title', buttons: [['later', 'close'], ['gate_leave', 'leave']] },
  'sign-in': { words: 'google_account', title: 'sign_in', buttons: [['sign_in', 'close'], ['no_account', 'close']] },
  locked: { words: 'locked', buttons: [['got_it', 'close']] },
  challenge: { words: 'challenge' },
};

export function dialogs(view, page) {
  const open = page.dialogs.filter(d => d.kind !== 'challenge').map(d => dialog(page, d));
  if (!open.length) return null;
  return h('div', { css: 'veil', key: 'dialogs', shadow: page.mutate.shadow || page.has('shadow-dialogs') }, open);
}

function dialog(page, d) {
  const kind = kinds[d.kind] ?? kinds.unknown;
  const text = d.text || page.t(kind.words, { name: 'Read AI' });
  return h('div', { class: 'uW2Fw-P5QLlc', css: 'dialog', key: d.id, 'aria-modal': 'true', role: d.kind === 'cookies' ? 'alertdialog' : 'dialog', 'aria-label': text },
    kind.title ? h('h2', { class: 'uW2Fw-k2Wrsb', key: 'title' }, page.t(kind.title)) : null,
    h('div', { class: 'uW2Fw-T0kwCb', words: true, key: 'text' }, text),
    h('div', { class: 'uW2Fw-JGcpL', css: 'row', key: 'buttons', shuffle: true },
      kind.buttons.map(([words, effect, action]) => pill(page, page.t(words), () => page.answer(d, effect, words),
        { key: words, css: 'text', 'data-mdc-dialog-action': action ?? false, drop: { 'dialog-action': 'data-mdc-dialog-action' } }))));
}

// challenge is one that a person can see.
export function challenge(view, page) {
  const open = view.screen === 'captcha' || page.dialogs.some(d => d.kind === 'challenge') || page.has('challenge');
  if (!open) return null;
  return h('div', { css: 'challenge', key: 'challenge' },
    h('iframe', { title: 'recaptcha challenge expires in two minutes', name: 'c-standin', width: 400, height: 400, src: '/_frame/recaptcha/enterprise/bframe' }));
}
