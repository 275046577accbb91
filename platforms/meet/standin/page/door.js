// door.js: everything before the call and after it.

import { h, icon } from '/_shared/core.js';
import { device, keys, pill, round } from './parts.js';

export function door(view, page) {
  keys(page);
  switch (view.screen) {
    case 'prejoin': return prejoin(view, page);
    case 'waiting': return waiting(view, page);
    case 'sign-in': return signIn(view, page);
    case 'home': return home(view, page);
    case 'captcha': return [top(page), h('div', { css: 'center' }, h('h1', { words: true }, page.t('challenge')))];
    case 'getting-ready': return [top(page), h('div', { css: 'center', role: 'progressbar' }, h('div', { words: true }, page.t('getting_ready')))];
  }
  return end(view, page);
}

function top(page) {
  return h('div', { class: 'pHsCke', css: 'top', key: 'top' }, h('div', { class: 'MuzmKe', css: 'logo', 'aria-hidden': 'true' }, 'Meet'),
    page.view.account ? h('div', { css: 'account', 'aria-label': page.t('signed_in_as', { name: page.view.account }) }, page.view.account) : null);
}

// preview is the picture of oneself with the switches on it.
function preview(page) {
  return h('div', { class: 'crqnQb', css: 'preview', key: 'preview' },
    h('div', { class: 'Tmb7Fd', css: 'camera' }, page.view.camera ? '' : h('div', {}, page.view.self.name)),
    h('div', { css: 'row', key: 'devices', shuffle: true }, device(page, 'mic', true), device(page, 'cam', true)),
    page.has('no-phantom') ? null
      : h('div', { class: 'dkjMxf', css: 'phantom', key: 'phantom', 'data-participant-id': `spaces/standin/devices/${page.view.self.n}` },
        h('button', { type: 'button', css: 'small', 'aria-label': page.t('backgrounds') }, icon('visual_effects'), h('span', {}, page.t('backgrounds')))));
}

function prejoin(view, page) {
  const guest = !view.account;
  const ready = page.ready('join', view.ready_ms ?? 0);
  const needs = guest && !(page.local.name ?? '').trim();
  const button = view.button ?? (page.has('open') ? 'join_now' : 'ask');
  const join = e => {
    if (!e.isTrusted) return; // the page wants a person's click
    if (!ready) return; // an early click does nothing, and says nothing
    page.tell('join', { name: page.local.name ?? '', button });
  };
  return [
    top(page),
    h('div', { class: 'vgJExf', css: 'two', key: 'two', shuffle: true },
      preview(page),
      h('div', { class: 'R5ccN', css: 'side', key: 'side' },
        page.has('host-wait') ? h('div', { class: 'PNenzf', role: 'heading', words: true, key: 'wait' }, page.t('host_wait'))
          : h('div', { class: 'eE0Xmc', css: 'title', role: 'heading', 'aria-level': 1, key: 'title' }, page.t(guest ? 'whats_your_name' : 'ready')),
        guest ? name(page, join) : h('div', { key: 'as' }, view.account),
        !ready && (view.ready_ms ?? 0) > 0 ? h('div', { class: 'xxyfEd', css: 'note', words: true, key: 'ready' }, page.t('getting_ready')) : null,
        page.has('host-wait') ? null : h('div', { css: 'row', key: 'buttons', shuffle: true },
          ['here_too', 'switch_here'].includes(button) ? [
            pill(page, page.t('here_too'), e => e.isTrusted && page.tell('join', { name: page.local.name, button: 'here_too' }), { jsname: 'Qx7uuf', key: 'here' }),
            pill(page, page.t('switch_here'), e => e.isTrusted && page.tell('join', { name: page.local.name, button: 'switch_here' }), { css: 'text', key: 'switch' }),
          ] : pill(page, page.t(button), join, {
            jsname: 'Qx7uuf', key: 'join', drop: { 'join-jsname': 'jsname' }, disabled: needs || (!ready && !page.has('silent-early-click')),
          })),
        h('button', { type: 'button', css: 'text', key: 'other', 'aria-haspopup': 'menu', 'aria-label': page.t('other_ways') }, icon('more_vert'), h('span', {}, page.t('other_ways'))),
        guest && page.has('use-without-account') ? pill(page, page.t('no_account'), () => {}, { css: 'text', key: 'without' }) : null,
        h('div', { css: 'note', key: 'safe' }, h('span', {}, page.t('safe'))))),
  ];
}

function name(page, join) {
  return h('div', { class: 'ZHRjHb', css: 'field', key: `name${page.local.renew ?? 0}` },
    h('input', {
      type: 'text', jsname: 'YPqjbf', class: 'qdOxv-fmcmS-wGMbrd', 'aria-label': page.t('your_name'), placeholder: page.t('your_name'), maxlength: 60,
      autocomplete: 'name', drop: { 'name-label': 'aria-label', 'name-jsname': 'jsname' },
      on: {
        input: e => {
          const value = e.target.value;
          // Some builds draw the field anew while somebody types.
          const renew = page.has('name-redraw') && value.length === 5 ? (page.local.renew ?? 0) + 1 : page.local.renew;
          const again = renew !== page.local.renew;
          page.set({ name: value, renew });
          if (again) {
            const field = document.querySelector('input[type=text]');
            field.value = value;
            field.focus();
          }
        },
        keydown: e => { if (e.key === 'Enter' && (page.local.name ?? '').trim()) join(e); },
      },
    }),
    h('div', { css: 'note', 'aria-hidden': 'true' }, `${(page.local.name ?? '').length}/60`),
    h('input', { type: 'text', css: 'hidden', 'aria-hidden': 'true', tabindex: -1, key: 'trap' }));
}

// waiting looks like a call: it has the call's bar with a button to leave, and somebody who is nobody.
function waiting(view, page) {
  return [
    top(page),
    h('div', { class: 'vgJExf', css: 'two', key: 'two', shuffle: true },
      preview(page),
      h('div', { class: 'R5ccN', css: 'side', key: 'side' },
        h('div', { css: 'spinner', role: 'progressbar', key: 'spin' }),
        h('div', { class: 'dHFIve', css: 'title', role: 'heading', 'aria-level': 1, words: true, key: 'title' }, view.text || page.t('waiting')),
        pill(page, page.t('return_home'), () => page.tell('home'), { css: 'text', key: 'home' }))),
    page.has('bare-waiting') ? null : h('div', { class: 'Tmb7Fd', css: 'bar', role: 'region', 'aria-label': page.t('controls'), key: 'bar' },
      h('div', { css: 'row', shuffle: true },
        device(page, 'mic', false), device(page, 'cam', false),
        round(page, 'more_vert', page.t('more'), () => {}, { jsname: 'NakZHc', key: 'more' }),
        round(page, 'call_end', page.t('leave'), () => page.tell('home'), { jsname: 'CQylAd', css: 'round red', key: 'leave' }))),
  ];
}

// ends are the screens of which words say everything.
const ends = {
  denied: ['denied', 'ask_again'], 'left-lobby': ['left', 'rejoin'], 'no-answer': ['no_answer', 'ask_again'], refused: ['refused'], 'refused-meeting': ['refused_meeting'],
  'connect-problem': ['connect_problem', 'try_again'], credentials: ['credentials'], invalid: ['invalid'], expired: ['expired'],
  removed: ['removed'], ended: ['ended'], 'call-ended': ['call_ended', 'rejoin'], left: ['left', 'rejoin'], lost: ['lost', 'rejoin'],
  error: ['error', 'try_again'], variant: ['variant'], 'not-started': ['host_wait'],
};

function end(view, page) {
  const [words, again] = ends[view.screen] ?? ['error'];
  return [
    top(page),
    h('div', { class: 'roSPhc', css: 'center', key: 'end' },
      h('h1', { class: 'roSPhc', jsname: 'r4nke', words: true, key: 'text' }, view.text || page.t(words)),
      h('div', { css: 'row', key: 'buttons', shuffle: true },
        again ? pill(page, page.t(again), () => page.tell('again'), { key: 'again' }) : null,
        pill(page, page.t('return_home'), () => page.tell('home'), { key: 'home' })),
      ['left', 'ended', 'call-ended', 'removed'].includes(view.screen) ? pill(page, page.t('feedback'), () => {}, { css: 'text', key: 'feedback' }) : null,
      page.has('survey') && ['left', 'ended', 'call-ended'].includes(view.screen)
        ? h('div', { css: 'card', key: 'survey', role: 'dialog', 'aria-label': page.t('survey') }, h('div', {}, page.t('survey')), pill(page, page.t('skip'), () => page.tell('note', { text: 'survey skipped' }), { css: 'text' })) : null),
  ];
}

function signIn(view, page) {
  return h('div', { css: 'center', key: 'sign-in' },
    h('h1', { id: 'headingText', key: 'h' }, h('span', { jsslot: '' }, page.t('sign_in'))),
    h('div', { id: 'headingSubtext', key: 's' }, h('span', {}, view.lang === 'en' ? page.t('use_account') : page.t('google_account'))),
    h('input', { type: 'email', id: 'identifierId', name: 'identifier', 'aria-label': page.t('email'), autocomplete: 'username', key: 'id' }),
    h('div', { css: 'row', key: 'b' }, pill(page, page.t('create'), () => {}, { css: 'text', key: 'c' }), pill(page, page.t('next'), () => {}, { key: 'n' })));
}

function home(view, page) {
  return [top(page), h('div', { css: 'center', key: 'home' }, h('h1', {}, page.t('home')), pill(page, page.t('new_meeting'), () => {}, {}))];
}
