// door.js: everything before the meeting and after it.

import { h } from '/_shared/core.js';
import { button, svg } from './parts.js';

export function door(view, page) {
  switch (view.screen) {
    case 'launcher': return launcher(page);
    case 'prejoin': return page.has('classic') ? classic(view, page) : preview(view, page);
    case 'left': return left(page);
    case 'denied': return page.has('denied-redirect') ? left(page) : end(view, page);
    case 'sign-in': return signIn(page);
    case 'captcha': return h('div', { css: 'center', key: 'captcha' }, h('h1', { words: true }, page.t('captcha')));
  }
  return end(view, page);
}

function launcher(page) {
  return h('div', { css: 'center', key: 'launcher' },
    h('h1', {}, page.t('start_hint')),
    button(page.t('launch'), () => {}, { key: 'launch' }),
    h('div', {}, page.t('download')),
    h('a', { href: '#', role: 'button', css: 'link', key: 'browser', on: { click: e => { e.preventDefault(); page.tell('enter'); } } }, page.t('from_browser')));
}

// typed takes keys as the client does: it believes only what a keyboard did.
function typed(page, field) {
  let pressed = false;
  return {
    keydown: e => { if (e.isTrusted) { pressed = true; page.local.pressed = true; } if (e.key === 'Enter') join(page)(e); },
    input: e => {
      if (!pressed && !page.local.pressed) return;
      const value = e.target.value;
      const again = page.has('name-redraw') && field === 'name' && value.length === 4;
      page.set({ [field]: value, renew: (page.local.renew ?? 0) + (again ? 1 : 0) });
      if (again) { // the field is drawn anew while somebody types
        const fresh = document.getElementById(e.target.id);
        fresh.value = value;
        fresh.focus();
      }
    },
  };
}

const join = page => e => {
  if (!e.isTrusted || !able(page)) return;
  page.tell('join', { name: page.local.name ?? '', passcode: page.local.passcode ?? '', button: 'join' });
};

function able(page) {
  const { view } = page;
  if (!page.ready('join', view.ready_ms ?? 0)) return false;
  if (page.has('classic') && page.has('terms') && !page.local.agreed) return false;
  return (view.account || (page.local.name ?? '').trim()) && (!view.passcode || page.local.passcode);
}

function preview(view, page) {
  const on = { mic: !view.self.muted, cam: view.camera };
  return [
    page.has('meeting-info') && !page.local.info ? h('div', { class: 'preview-meeting-info', css: 'cover', key: 'info', on: { click: () => page.set({ info: true }) } }, h('div', {}, page.t('topic'))) : null,
    h('div', { class: 'preview-root', css: 'two', key: 'preview', shuffle: true },
      h('div', { class: 'preview-video', css: 'video', key: 'video' },
        h('div', { css: 'row', key: 'devices', shuffle: true },
          h('button', { type: 'button', id: 'preview-audio-control-button', class: 'preview-video__control-button', css: 'footbutton', key: 'mic',
            'aria-label': page.t(on.mic ? 'preview_mic_on' : 'preview_mic_off'), drop: { 'preview-ids': 'id', 'preview-labels': 'aria-label' }, on: { click: () => page.tell('mic', { on: !on.mic }) } },
          svg(on.mic ? 'SvgAudioMute' : 'SvgAudioUnmute'), h('span', {}, page.t(on.mic ? 'preview_mic_on' : 'preview_mic_off'))),
          h('button', { type: 'button', id: 'preview-video-control-button', class: 'preview-video__control-button', css: 'footbutton', key: 'cam',
            'aria-label': page.t(on.cam ? 'preview_cam_on' : 'preview_cam_off'), drop: { 'preview-ids': 'id', 'preview-labels': 'aria-label' }, on: { click: () => page.tell('cam', { on: !on.cam }) } },
          svg(on.cam ? 'SvgVideoOn' : 'SvgVideoOff'), h('span', {}, page.t(on.cam ? 'preview_cam_on' : 'preview_cam_off'))))),
      h('div', { class: 'preview-info', css: 'side', key: 'side' },
        h('h1', { class: 'preview-title', key: 'h', words: true }, page.t('enter_info')),
        view.passcode ? passcode(view, page, 'input-for-pwd') : null,
        view.account ? h('div', { key: 'as' }, view.account) : h('div', { css: 'field', key: `name${page.local.renew ?? 0}` },
          h('label', { for: 'input-for-name' }, page.t('name_label')),
          h('input', { type: 'text', id: 'input-for-name', class: 'preview-meeting-info-field-input', maxlength: 64, autocomplete: 'off', drop: { 'name-id': 'id' }, on: typed(page, 'name') })),
        h('button', { type: 'button', class: 'zm-btn preview-join-button' + (able(page) ? '' : ' disabled'), css: 'button', key: 'join',
          disabled: !able(page), on: { click: join(page) } }, page.t('join')))),
  ];
}

function passcode(view, page, id) {
  return h('div', { css: 'field', key: 'pass' },
    h('label', { for: id }, page.t('pass_label')),
    h('input', { type: 'password', id, maxlength: 64, autocomplete: 'off', on: typed(page, 'passcode') }),
    view.wrong ? h('div', { id: 'error-for-pwd', css: 'error', role: 'alert', words: true }, page.t('passcode_wrong')) : null);
}

function classic(view, page) {
  return h('div', { css: 'center', key: 'classic' },
    h('form', { id: 'joinForm', on: { submit: e => e.preventDefault() } },
      page.has('terms') && !page.local.agreed ? button(page.t('agree'), () => page.set({ agreed: true }), { id: 'wc_agree1', key: 'agree' }) : null,
      view.account ? null : h('div', { css: 'field', key: `name${page.local.renew ?? 0}` },
        h('input', { type: 'text', id: 'inputname', placeholder: page.t('your_name'), 'aria-label': page.t('your_name'), maxlength: 64, on: typed(page, 'name') })),
      view.passcode ? passcode(view, page, 'inputpasscode') : null,
      h('button', { type: 'button', id: 'joinBtn', class: 'btn btn-primary', css: 'button', key: 'join', disabled: !able(page), on: { click: join(page) } }, page.t('join'))));
}

// left is where one lands after leaving: the page to join another meeting.
function left(page) {
  return [
    h('div', { css: 'center', key: 'left' },
      h('h1', { key: 'h' }, page.t('left_title')),
      h('input', { type: 'text', id: 'join-confno', 'aria-label': page.t('meeting_id'), key: 'id' }),
      button(page.t('join'), () => {}, { key: 'join', disabled: true })),
    page.has('survey') && page.view.screen === 'left' ? h('div', { class: 'zm-modal', css: 'dialog', role: 'dialog', key: 'survey', 'aria-label': page.t('survey') },
      h('div', {}, page.t('survey')), button(page.t('skip'), () => page.tell('note', { text: 'survey skipped' }))) : null,
  ];
}

function signIn(page) {
  return h('div', { css: 'center', key: 'sign-in' },
    h('h1', { key: 'h' }, page.t('sign_in')), h('div', { id: 'prompt', key: 'p', words: true }, page.t('sign_in_to')),
    h('input', { type: 'email', id: 'email', 'aria-label': 'Email', key: 'e' }), h('input', { type: 'password', id: 'password', 'aria-label': 'Password', key: 'w' }),
    button(page.t('sign_in'), () => {}, { key: 'b' }));
}

// modals are ends that a modal tells; the others are pages of words.
const modals = { ended: 'ended', removed: 'removed', 'host-ended': 'host_ended', 'free-ended': 'free_ended', denied: 'removed_waiting', lost: 'lost' };
const pages = {
  invalid: 'invalid', 'not-started': 'host_wait', human: 'human', 'bot-wall': 'bot_wall', 'sign-in-text': 'sign_in_to', auth: 'auth', 'web-off': 'web_off',
  error: 'error', webinar: 'webinar',
};

function end(view, page) {
  const modal = modals[view.screen];
  if (modal) {
    return h('div', { class: 'meeting-app', css: 'app', key: 'end' },
      h('div', { class: 'zm-modal zm-modal-legacy', css: 'dialog', role: 'dialog', 'aria-modal': 'true', key: 'modal' },
        h('div', { class: 'zm-modal-body-title', words: true, key: 'title' }, view.text || page.t(modal)),
        button(page.t('ok'), () => page.tell('home'), { key: 'ok', class: 'zm-btn zm-btn-legacy zm-btn--primary' })));
  }
  const words = pages[view.screen] ?? 'error';
  return h('div', { css: 'center', key: 'end' },
    h('h4', { class: 'error-title', words: true, id: view.screen === 'sign-in-text' ? 'prompt' : false, key: 't' }, view.text || page.t(words)),
    view.screen === 'bot-wall' || view.screen === 'sign-in-text' || view.screen === 'auth' ? button(page.t('sign_in_join'), () => {}, { key: 'b' }) : null,
    view.screen === 'human' ? h('div', { css: 'challenge', class: 'CaptchaContainer', key: 'c' }, h('input', { type: 'checkbox', id: 'human', 'aria-label': page.t('human') })) : null,
    view.screen === 'error' ? button(page.t('try_again'), () => page.tell('again'), { key: 'b' }) : null);
}
