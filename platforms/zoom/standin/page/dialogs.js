// dialogs.js: what stands in the way.

import { h } from '/_shared/core.js';
import { button } from './parts.js';

const kinds = {
  recording: { class: 'recording-disclaimer-dialog', words: 'recording', buttons: [['leave_meeting', 'leave'], ['got_it', 'accept']] },
  companion: { words: 'companion', buttons: [['ok', 'close']] },
  tip: { words: 'got_it', text: 'unknown_text', buttons: [['got_it', 'close']] },
  devices: { words: 'no_mic', text: 'without_devices', buttons: [['allow', 'close'], ['without_devices', 'devices-off']] },
  'ask-unmute': { words: 'ask_unmute', buttons: [['stay_muted', 'close'], ['unmute', 'unmute']] },
  'ask-video': { words: 'ask_video', buttons: [['later', 'close'], ['start_my_video', 'camera-on']] },
  upgraded: { words: 'upgraded', buttons: [['ok', 'close']] },
  permission: { words: 'permission', buttons: [['ok', 'close']] },
  'mic-system': { words: 'mic_system', buttons: [['ok', 'close']] },
  disclaimer: { words: 'disclaimer', buttons: [['agree_button', 'accept', 'disclaimer_agree'], ['leave', 'leave']] },
  survey: { words: 'survey', buttons: [['skip', 'close']] },
  unknown: { words: 'unknown_title', text: 'unknown_text', buttons: [['later', 'close'], ['leave_meeting', 'leave']] },
  'sign-in': { words: 'sign_in_to', buttons: [['sign_in_join', 'close']] },
  'bot-check': { words: 'bot_dialog', shadow: true, buttons: [['leave_meeting', 'leave'], ['later', 'close']] },
};

export function dialogs(view, page) {
  const open = page.dialogs.filter(d => d.kind !== 'challenge');
  if (!open.length) return null;
  const shadow = page.mutate.shadow || page.has('shadow-dialogs') || open.some(d => kinds[d.kind]?.shadow);
  return h('div', { css: 'veil', key: shadow ? 'dark' : 'veil', shadow }, open.map(d => dialog(page, d)));
}

function dialog(page, d) {
  const kind = kinds[d.kind] ?? kinds.unknown;
  const text = d.text || page.t(kind.words);
  return h('div', { class: `zm-modal ${kind.class ?? ''}`.trim(), css: 'dialog', key: d.id, role: d.kind === 'ask-unmute' ? 'alertdialog' : 'dialog', 'aria-modal': 'true' },
    h('div', { class: 'zm-modal-body' },
      h('div', { class: 'zm-modal-body-title', words: true }, text),
      kind.text ? h('div', { class: 'zm-modal-body-content' }, page.t(kind.text)) : null),
    h('div', { class: 'zm-modal-footer-default-actions', css: 'row', shuffle: true },
      kind.buttons.map(([words, effect, id]) => button(page.t(words), () => page.answer(d, effect, words), { key: words, id: id ?? false, class: 'zm-btn zm-btn-legacy' }))));
}

export function challenge(view, page) {
  if (view.screen !== 'captcha' && !page.dialogs.some(d => d.kind === 'challenge') && !page.has('challenge')) return null;
  return h('div', { class: 'component_smart_captcha CaptchaContainer', css: 'challenge', key: 'challenge' },
    h('div', { css: 'picture', role: 'img', 'aria-label': page.t('captcha') }), h('input', { type: 'text', 'aria-label': page.t('captcha') }), button(page.t('check_captcha'), () => {}));
}

// cookies is the banner that covers the lower part of the page until it is answered.
export function cookies(view, page) {
  if (!page.has('cookies') || page.local.cookies || page.cookiesDone || page.late('cookies', page.mutate.dialogMS)) return null;
  const done = choice => () => { page.cookiesDone = true; page.tell('note', { text: `cookies ${choice}` }); page.redraw(); };
  return h('div', { id: 'onetrust-banner-sdk', css: 'cookies', role: 'region', 'aria-label': page.t('cookies'), key: 'cookies' },
    h('div', { role: 'alertdialog' }, h('p', {}, page.t('cookies')),
      button(page.t('reject_cookies'), done('rejected'), { id: 'onetrust-reject-all-handler' }), button(page.t('accept_all'), done('accepted'), { id: 'onetrust-accept-btn-handler' })));
}
