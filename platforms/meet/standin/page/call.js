// call.js: the call itself.

import { h, icon } from '/_shared/core.js';
import { device, keys, pill, round } from './parts.js';

export function call(view, page) {
  keys(page);
  const hides = page.has('toolbar-hides');
  if (hides) watchPointer(page);
  const hidden = hides && !page.local.bar;
  return [
    view.moving ? h('div', { css: 'banner', key: 'moving', words: true }, page.t('moving')) : null,
    view.breakout ? h('div', { css: 'banner', key: 'breakout' }, page.t('room', { name: view.breakout })) : null,
    view.network !== 'fine' ? h('div', { css: 'banner', role: 'alert', key: 'network' }, page.t(view.network)) : null,
    view.people.length < 2 ? h('div', { css: 'card', key: 'alone' }, h('div', { class: 'VdLOD' }, page.t('alone'))) : null,
    h('div', { class: 'axUSnc', css: 'tiles', key: 'tiles' }, view.moving || page.has('no-tiles') ? [] : tiles(view, page)),
    captions(view, page),
    page.local.popup ? popup(page) : null,
    view.moving ? null : bar(view, page, hidden),
    side(view, page),
  ];
}

function watchPointer(page) {
  if (page.watching) return;
  page.watching = true;
  let timer;
  addEventListener('mousemove', () => {
    clearTimeout(timer);
    timer = setTimeout(() => page.set({ bar: false }), 3000);
    if (!page.local.bar) page.set({ bar: true });
  });
}

const spaceOf = n => `spaces/standin/devices/${n}`;

// nameOf is what a tile says: the presentation of somebody is a tile of its own.
function tiles(view, page) {
  const shown = view.people.slice(0, 12);
  const out = shown.map(p => tile(page, p, p.self && page.has('you') ? page.t('you') : p.name));
  for (const p of view.people.filter(q => q.sharing)) out.unshift(tile(page, { ...p, speaking: false }, page.t('presentation', { name: p.name }), 'share'));
  return out;
}

function tile(page, p, name, kind = '') {
  const level = page.has('audio-level');
  return h('div', {
    class: 'dkjMxf' + (p.speaking ? ' Oaajhc' : ''), css: p.speaking ? 'tile speaking' : 'tile', key: `${kind}${p.n}`, jsname: 'E2KThb',
    'data-participant-id': kind ? `${spaceOf(p.n)}/presentation` : spaceOf(p.n), drop: { 'participant-id': 'data-participant-id', 'self-name': 'data-self-name' },
    'data-self-name': p.self ? page.t('you') : false, 'data-requested-participant-id': spaceOf(p.n), 'data-audio-level': level ? (p.speaking ? '6' : '0') : false,
  },
  h('div', { class: 'IisKdb ' + (p.speaking ? 'HX2H7' : 'gjg47c'), css: 'voice', jsname: 'QgSmzd', key: 'voice' },
    h('div', { class: 'Qsjl0', css: 'dot' }), h('div', { class: 'b1wmVc', css: 'dot' })),
  h('div', { class: 'XEazBc adnwBd', css: 'nametag', key: 'name' }, h('span', { class: 'notranslate' }, name),
    page.has('merged-audio') && !p.self && !kind ? h('div', { 'data-cohort-id': 'c1', role: 'img', 'aria-label': page.t('merged') }) : null),
  p.muted && !kind ? h('div', { css: 'mark', key: 'muted' }, icon('mic_off')) : null,
  p.hand ? h('div', { css: 'mark', key: 'hand', role: 'img', 'aria-label': page.t('hand_of', { name }) }, icon('back_hand')) : null);
}

function captions(view, page) {
  if (!page.local.captions && !page.has('captions')) return null;
  return h('div', { class: 'vNKgIf', css: 'captions', role: 'region', 'aria-label': page.t('captions'), jsname: 'dsyhDe', tabindex: 0, key: 'captions' },
    (view.captions ?? []).map((c, i) => h('div', { class: 'nMcdL bj4p3b', key: i },
      h('div', { class: 'adE6rb' }, h('span', { class: 'NWpY1d' }, c.name)),
      h('div', { class: 'ygicle VbkSUe', jsname: 'tgaKEf' }, h('span', {}, c.text)))));
}

function popup(page) {
  const row = page.local.popup;
  return h('div', { css: 'popup', 'aria-live': 'polite', key: `popup${row.id}` }, h('div', { class: 'notranslate' }, row.name), h('div', {}, row.text));
}

function bar(view, page, hidden) {
  const ready = page.ready('controls');
  const t = k => page.t(k);
  const labelled = page.has('count-in-label');
  const n = view.count ?? view.people.length;
  const counted = n >= 0;
  const open = name => () => {
    const panel = page.local.panel === name ? null : name;
    page.tell('note', { text: panel ? `opened ${panel}` : `closed ${name}` });
    page.set({ panel, unread: name === 'chat' ? false : page.local.unread, popup: null, scroll: 0 });
  };
  return h('div', { class: 'Tmb7Fd', css: hidden ? 'bar hidden' : 'bar', key: 'bar' },
    h('div', { css: 'layer', role: 'region', 'aria-label': t('controls'), drop: { 'controls-region': 'aria-label' }, key: 'controls' },
      h('div', { css: 'row', shuffle: true, key: 'row' },
        device(page, 'mic', false), device(page, 'cam', false),
        round(page, 'closed_caption', t(page.local.captions ? 'captions_off' : 'captions_on'), () => page.set({ captions: !page.local.captions }), { jsname: 'r8qRAd', key: 'cc' }),
        round(page, 'back_hand', t(view.self.hand ? 'lower' : 'raise'), () => page.tell('hand', { on: !view.self.hand }), { jsname: 'FpSaz', key: 'hand', 'aria-pressed': String(!!view.self.hand) }),
        round(page, 'present_to_all', t('share'), () => {}, { jsname: 'hNGZQc', key: 'share', sign: 'share' }),
        round(page, 'more_vert', t('more'), () => page.set({ menu: !page.local.menu }), { jsname: 'NakZHc', key: 'more', 'aria-haspopup': 'menu' }),
        round(page, 'call_end', t('leave'), e => { if (ready && e.isTrusted) page.has('leave-asks') ? page.set({ sure: true }) : page.tell('leave'); },
          { jsname: 'CQylAd', css: 'round red', key: 'leave', disabled: !ready, drop: { 'leave-jsname': 'jsname', 'leave-label': 'aria-label' } }))),
    page.local.sure ? h('div', { css: 'menu', role: 'menu', key: 'sure' }, pill(page, page.t('just_leave'), () => page.tell('leave'), {})) : null,
    page.local.menu ? h('ul', { css: 'menu', role: 'menu', key: 'menu' }, ['layout', 'settings', 'captions_on'].map(k => h('li', { role: 'menuitem', key: k }, h('span', {}, t(k))))) : null,
    h('nav', { css: 'row', key: 'panels', shuffle: true },
      round(page, 'info', t('details'), open('details'), { 'data-panel-id': 5, key: 'info' }),
      round(page, 'people', labelled && counted ? `${t('people')} (${n})` : t('people'), open('people'), {
        'data-panel-id': 1, key: 'people', 'aria-pressed': String(page.local.panel === 'people'), sign: 'people', drop: { 'panel-ids': 'data-panel-id' },
        badge: counted && !labelled ? h('div', { class: 'uGOf1d', css: 'count' }, String(n)) : null,
      }),
      page.has('no-chat-button') ? null : round(page, 'chat', t(page.local.unread ? 'chat_new' : 'chat'), open('chat'), {
        'data-panel-id': 2, key: 'chat', 'aria-pressed': String(page.local.panel === 'chat'), drop: { 'panel-ids': 'data-panel-id' },
      }),
      round(page, 'category', t('activities'), open('activities'), { 'data-panel-id': 10, key: 'activities' })));
}

function side(view, page) {
  const panel = page.local.panel;
  if (!panel) return null;
  return h('aside', { class: 'R3Gmyc', css: 'panel', 'aria-label': page.t('side_panel'), drop: { 'side-panel': 'aria-label' }, key: 'panel' },
    h('div', { css: 'head', key: 'head' }, h('h2', { role: 'heading' }, page.t(panel)), round(page, 'close', page.t('close'), () => page.set({ panel: null }), { css: 'round small' })),
    panel === 'chat' ? chat(view, page) : panel === 'people' ? people(view, page) : h('div', { key: panel }));
}

const rowHeight = 44;

// people is the list; a long one has only the part that is scrolled to.
function people(view, page) {
  const virtual = page.has('virtual-list') || view.people.length > 40;
  const first = virtual ? Math.max(0, Math.floor((page.local.scroll ?? 0) / rowHeight) - 2) : 0;
  const shown = virtual ? view.people.slice(first, first + 12) : view.people;
  return h('div', { css: 'scroll', key: 'people', jsname: 'jrQDbd', on: { scroll: e => virtual && page.set({ scroll: e.target.scrollTop }) } },
    h('div', { role: 'list', 'aria-label': page.t('participants'), style: virtual ? `height:${view.people.length * rowHeight}px;padding-top:${first * rowHeight}px;box-sizing:border-box` : false, drop: { 'people-list': 'aria-label' }, key: 'list' },
      shown.map(p => h('div', { class: 'cxdMu KV1GEc', css: 'person', role: 'listitem', 'aria-label': p.name, 'data-participant-id': spaceOf(p.n), key: p.n },
        h('div', { key: 'n' }, h('span', { class: 'zWGUib notranslate' }, p.name), p.self ? h('span', { class: 'NnTWjc' }, ` (${page.t('you')})`) : null),
        p.host ? h('div', { class: 'd93U2d', key: 'h' }, page.t('host')) : null,
        h('div', { class: 'IisKdb ' + (p.speaking ? 'HX2H7' : 'gjg47c'), key: 'v' }),
        p.muted ? icon('mic_off') : null))));
}

// chat groups the messages that one person writes within a minute under one name.
function chat(view, page) {
  const groups = [];
  for (const r of view.chat ?? []) {
    const g = groups.at(-1);
    if (g && g.from === r.from && r.at - g.at < 60000) g.rows.push(r);
    else groups.push({ from: r.from, own: r.own, name: r.name, at: r.at, rows: [r] });
  }
  const draft = page.local.draft ?? '';
  const send = () => {
    if (!draft.trim()) return;
    page.tell('say', { text: draft });
    document.querySelector('aside textarea').value = '';
    page.set({ draft: '' });
  };
  return h('div', { css: 'chat', key: 'chat' },
    h('div', { class: 'z38b6', css: 'scroll', jsname: 'xySENc', 'aria-live': 'polite', key: 'log' },
      groups.map(g => h('div', { class: 'Ss4fHf' + (g.own ? ' jO4O1' : ''), css: 'group', key: g.rows[0].id },
        h('div', { class: 'HNucUd', key: 'head' }, h('div', { class: 'poVWob notranslate' }, g.own ? page.t('you') : g.name),
          h('div', { class: 'MuzmKe' }, new Date(g.at).toTimeString().slice(0, 5))),
        g.rows.map(r => h('div', { class: 'jO4O1x er6Kjc', 'data-message-id': `spaces/standin/messages/${r.id}`, key: r.id },
          h('div', { class: 'beTDc' }, h('div', { jsname: 'dTKtvb' }, r.text))))))),
    view.chat_off ? h('div', { css: 'note', key: 'off' }, page.t('no_chat')) : h('div', { css: 'field', key: 'field' },
      h('textarea', { jsname: 'YPqjbf', rows: 1, maxlength: 500, 'aria-label': page.t('send'), placeholder: page.t('send'), drop: { 'chat-label': 'aria-label' },
        on: {
          input: e => page.set({ draft: e.target.value }),
          keydown: e => { if (e.key === 'Enter' && !e.shiftKey) { e.preventDefault(); send(); } },
        } }),
      round(page, 'send', page.t('send'), send, { jsname: 'SoqoBf', css: 'round small', disabled: !draft.trim() })));
}
