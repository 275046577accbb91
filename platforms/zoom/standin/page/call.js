// call.js: what is drawn in the client's frame: joining, the waiting room, the meeting.

import { h } from '/_shared/core.js';
import { button, foot, keys, svg } from './parts.js';

export function call(view, page) {
  keys(page);
  if (view.screen === 'joining') return h('div', { class: 'meeting-joining', css: 'center', key: 'joining' }, h('div', { css: 'spinner', role: 'progressbar' }), h('span', { words: true }, page.t('joining')));
  if (view.screen === 'waiting') return waiting(view, page);
  return meeting(view, page);
}

// waiting is drawn where the meeting is, with the devices' preview and a button to leave.
function waiting(view, page) {
  const on = { mic: !view.self.muted, cam: view.camera };
  return [
    h('div', { class: 'meeting-on-hold', css: 'center', key: 'hold' },
      h('div', { class: 'waiting-room__title', words: true, key: 'text', role: 'status' }, view.text || page.t('waiting')),
      h('div', { css: 'note', key: 'topic' }, page.t('wait_topic')),
      h('div', { css: 'row', key: 'devices', shuffle: true },
        h('button', { type: 'button', id: 'preview-audio-control-button', css: 'footbutton', key: 'mic', 'aria-label': page.t(on.mic ? 'preview_mic_on' : 'preview_mic_off'), on: { click: () => page.tell('mic', { on: !on.mic }) } }, svg(on.mic ? 'SvgAudioMute' : 'SvgAudioUnmute')),
        h('button', { type: 'button', id: 'preview-video-control-button', css: 'footbutton', key: 'cam', 'aria-label': page.t(on.cam ? 'preview_cam_on' : 'preview_cam_off'), on: { click: () => page.tell('cam', { on: !on.cam }) } }, svg(on.cam ? 'SvgVideoOn' : 'SvgVideoOff')))),
    h('div', { css: 'bar', key: 'bar', id: page.has('waiting-foot-bar') ? 'foot-bar' : false },
      h('button', { type: 'button', class: 'footer-button-base__button', css: 'footbutton red', 'aria-label': page.t('leave'), key: 'leave', on: { click: () => page.tell('leave') } }, page.t('leave'))),
  ];
}

function meeting(view, page) {
  const hides = page.has('toolbar-hides');
  if (hides) watchPointer(page);
  return [
    view.moving ? h('div', { css: 'center', role: 'status', words: true, key: 'moving' }, page.t('moving')) : null,
    view.breakout && !view.moving ? h('div', { css: 'banner', key: 'room' }, page.t('breakout', { name: view.breakout })) : null,
    view.network !== 'fine' ? h('div', { css: 'banner', role: 'alert', key: 'net' }, page.t(view.network)) : null,
    view.moving ? null : page.has('gallery') ? gallery(view, page) : layout(view, page),
    captions(view, page),
    view.moving ? null : bar(view, page, hides && !page.local.bar),
    view.moving ? null : panels(view, page),
    !view.audio && !page.local.noAudio && !view.moving ? audio(view, page) : null,
    page.local.leaving ? h('div', { class: 'leave-meeting-options', css: 'menu', key: 'leaving' },
      h('button', { type: 'button', class: 'leave-meeting-options__btn leave-meeting-options__btn--default leave-meeting-options__btn--danger', css: 'button', on: { click: e => e.isTrusted && page.tell('leave') } }, page.t('leave_meeting'))) : null,
  ];
}

function watchPointer(page) {
  if (page.watching) return;
  page.watching = true;
  let timer;
  const seen = () => {
    clearTimeout(timer);
    timer = setTimeout(() => page.set({ bar: false }), 5000);
    if (!page.local.bar) page.set({ bar: true });
  };
  addEventListener('mousemove', seen);
  seen();
}

const frame = (page, p, name, kind, active) => h('div', { class: `${kind}${active ? ` ${kind}--active` : ''}`, css: active ? 'tile speaking' : 'tile', key: `${kind}${p.n}` },
  h('div', { class: 'video-avatar__avatar', css: 'avatar' }, h('div', { class: 'video-avatar__avatar-title' }, name.slice(0, 2)),
    h('div', { class: 'video-avatar__avatar-footer', css: 'nametag' }, p.muted ? svg('SvgAudioMute') : null, h('span', {}, name))));

// layout is the speaker's view: one large, the others in a bar. While somebody shares it is another one.
function layout(view, page) {
  const others = view.people.filter(p => !p.self);
  const main = others.find(p => p.n === page.local.main) ?? others[0] ?? view.people[0];
  const sharer = view.people.find(p => p.sharing);
  if (sharer) {
    return h('div', { id: 'video-share-layout', css: 'tiles', key: 'share' },
      h('div', { css: 'banner', key: 'who' }, page.t('shared_by', { name: sharer.name })),
      main ? h('div', { class: 'single-main-container__video-frame', css: main.speaking ? 'tile speaking' : 'tile', key: 'main' },
        h('div', { class: 'video-avatar__avatar-footer', css: 'nametag' }, h('span', {}, main.name))) : null);
  }
  return h('div', { class: 'speaker-view', css: 'tiles', key: 'speaker', shuffle: true },
    main ? frame(page, main, main.name, 'speaker-active-container__video-frame', false) : null,
    h('div', { class: 'speaker-bar-container__horizontal-view-wrap', css: 'row', key: 'bar' },
      view.people.slice(0, 6).map(p => frame(page, p, p.name, 'speaker-bar-container__video-frame', p.speaking))));
}

function gallery(view, page) {
  return h('div', { class: 'gallery-video-container__main-view', css: 'tiles', key: 'gallery' },
    view.people.slice(0, 16).map(p => frame(page, p, p.name, 'gallery-video-container__video-frame', p.speaking)));
}

function captions(view, page) {
  if (!page.has('captions')) return null;
  return h('div', { id: 'live-transcription-subtitle', class: 'live-transcription-subtitle__box', css: 'captions', key: 'captions' },
    (view.captions ?? []).map((c, i) => h('div', { class: 'live-transcription-subtitle__item', key: i }, `${c.name}: ${c.text}`)));
}

// audio is the dialog without which there is no sound.
function audio(view, page) {
  if (page.has('audio-hidden')) return null;
  const plain = page.has('audio-plain'); // under no name, class or id that anybody has seen
  return h('div', { class: 'join-dialog', css: 'audio', role: 'dialog', 'aria-label': page.t('audio_dialog'), key: 'audio' },
    h('div', { css: 'row', role: 'tablist' }, h('button', { type: 'button', role: 'tab', 'aria-selected': 'true' }, page.t('audio_dialog')), h('button', { type: 'button', role: 'tab' }, page.t('phone'))),
    h('div', { id: 'voip-tab' },
      h('button', { type: 'button', id: plain ? false : 'join-audio-by-computer', class: plain ? 'zm-btn' : 'zm-btn join-audio-by-voip__join-btn join-audio-container__btn', css: 'button', drop: { 'audio-id': 'id' },
        'aria-label': page.t(plain ? 'audio_other' : 'audio_computer'), on: { click: e => e.isTrusted && page.ready('audio') && page.tell('audio') } }, page.t(plain ? 'audio_other' : 'audio_computer'))));
}

function bar(view, page, hidden) {
  const t = (k, v) => page.t(k, v);
  const mic = !view.self.muted;
  const n = view.count ?? view.people.length;
  const ready = page.ready('leave');
  const toggle = name => () => {
    const panel = page.local.panel === name ? null : name;
    page.tell('note', { text: panel ? `opened ${panel}` : `closed ${name}` });
    page.set({ panel, unread: name === 'chat' ? 0 : page.local.unread });
  };
  const unread = page.local.unread ?? 0;
  const chatLabel = page.local.panel === 'chat' ? t('close_chat') : unread ? t('new_messages', { n: unread }) : t('open_chat');
  const counted = n >= 0;
  const peopleLabel = counted ? t(page.local.panel === 'people' ? 'close_people' : 'open_people', { n }) : t('people');
  return h('div', { id: page.has('classic') ? 'wc-footer' : 'foot-bar', class: 'footer' + (hidden ? ' footer--hidden' : ''), css: hidden ? 'bar hidden' : 'bar', role: 'toolbar', drop: { 'foot-bar': 'id' }, key: 'bar' },
    h('div', { css: 'row', shuffle: true, key: 'row' },
      view.audio
        ? foot(page, t(mic ? 'mic_on' : 'mic_off'), t(mic ? 'preview_mic_on' : 'preview_mic_off'), mic ? 'SvgAudioMute' : 'SvgAudioUnmute', () => page.tell('mic', { on: !mic }), { key: 'mic', name: 'mic-label' })
        : page.has('audio-hidden') ? null : foot(page, t(page.has('audio-plain') ? 'audio_other' : 'join_audio'), t(page.has('audio-plain') ? 'audio_other' : 'join_audio'), 'SvgJoinAudio', () => page.set({ noAudio: false }), { key: 'audio' }),
      foot(page, t(view.camera ? 'cam_on' : 'cam_off'), t(view.camera ? 'preview_cam_on' : 'preview_cam_off'), view.camera ? 'SvgVideoOn' : 'SvgVideoOff', () => page.tell('cam', { on: !view.camera }), { key: 'cam', name: 'cam-label' }),
      foot(page, peopleLabel, t('people'), 'SvgParticipants', toggle('people'), { key: 'people', sign: 'people', name: 'people-label',
        badge: counted ? h('span', { class: 'footer-button__number-counter', css: 'count' }, String(n)) : null }),
      page.has('no-chat-button') ? null : foot(page, chatLabel, t('chat'), 'SvgChat', toggle('chat'), { key: 'chat', name: 'chat-button-label', badge: unread ? h('span', { css: 'count' }, String(unread)) : null }),
      foot(page, t('share'), t('share'), 'SvgShare', () => {}, { key: 'share', sign: 'share' }),
      foot(page, t('reactions'), t('reactions'), 'SvgReactions', () => page.set({ menu: page.local.menu === 'reactions' ? null : 'reactions' }), { key: 'reactions' }),
      foot(page, t('more'), t('more').trim(), 'SvgMore', () => page.set({ menu: page.local.menu === 'more' ? null : 'more' }), { key: 'more' })),
    page.local.menu ? h('ul', { css: 'menu', role: 'menu', key: 'menu' },
      h('li', { key: 'hand' }, h('button', { type: 'button', role: 'menuitem', css: 'text', 'aria-label': t(view.self.hand ? 'lower' : 'raise'), on: { click: () => { page.tell('hand', { on: !view.self.hand }); page.set({ menu: null }); } } }, t(view.self.hand ? 'lower' : 'raise'))),
      page.local.menu === 'more' ? h('li', { key: 'cc' }, h('button', { type: 'button', role: 'menuitem', css: 'text' }, t('captions'))) : null) : null,
    h('div', { class: 'footer__leave-btn-container', key: 'leave' },
      h('button', { type: 'button', class: 'footer__leave-btn', css: 'footbutton red', 'aria-label': t('leave'), drop: { 'leave-label': 'aria-label' }, disabled: !ready,
        on: { click: e => e.isTrusted && page.set({ leaving: !page.local.leaving }) } }, t('leave'))));
}

function panels(view, page) {
  const panel = page.local.panel;
  if (!panel) return null;
  return h('div', { id: 'wc-container-right', css: 'panel', key: 'panel' }, panel === 'chat' ? chat(view, page) : people(view, page));
}

const rowHeight = 40;

function people(view, page) {
  const virtual = page.has('virtual-list') || view.people.length > 40;
  const first = virtual ? Math.max(0, Math.floor((page.local.scroll ?? 0) / rowHeight) - 2) : 0;
  const shown = virtual ? view.people.slice(first, first + 14) : view.people;
  const t = k => page.t(k);
  const said = p => [p.name + (p.self ? ` (${t('me')})` : p.host ? ` (${t('host')})` : ''), t(p.muted ? 'muted' : 'unmuted'), t('video_off')].join(', ');
  return h('div', { css: 'column', key: 'people' },
    h('div', { css: 'head', key: 'head' }, h('h2', {}, `${t('people')} (${view.count ?? view.people.length})`)),
    h('div', { class: 'participants-section-container__participants-list', css: 'scroll', key: 'scroll', on: { scroll: e => virtual && page.set({ scroll: e.target.scrollTop }) } },
      h('div', { role: 'list', 'aria-label': t('participants'), drop: { 'people-list': 'aria-label' }, key: 'list',
        style: virtual ? `height:${view.people.length * rowHeight}px;padding-top:${first * rowHeight}px;box-sizing:border-box` : false },
      shown.map((p, i) => h('div', { class: 'item-pos participants-li', css: 'person', role: 'listitem', id: `participants-list-${first + i}`, 'aria-label': said(p), key: p.n },
        h('div', { class: 'participants-item__item-layout' },
          h('span', { class: 'participants-item__display-name' }, p.name), p.self || p.host ? h('span', { class: 'participants-item__name-label' }, p.self ? ` (${t('me')})` : ` (${t('host')})`) : null,
          p.hand ? h('span', { class: 'participants-icon__participants-raise-hand', role: 'img', 'aria-label': t('raise') }, svg('SvgHand')) : null,
          svg(p.muted ? 'SvgAudioMute' : p.speaking ? 'SvgAudioUnmuteSpeaking' : 'SvgAudioUnmute')))))));
}

const receiver = (page, to) => to === 'everyone' ? page.t(page.has('group-chat') ? 'group_chat' : 'everyone') : to === 'host' ? page.t('hosts') : to;

function chat(view, page) {
  const t = (k, v) => page.t(k, v);
  const to = receiver(page, view.chat_to);
  const rows = view.chat ?? [];
  const virtual = page.has('virtual-chat');
  const shown = virtual ? rows.slice(-12) : rows;
  const off = rows.length - shown.length;
  const choices = page.has('chat-host-only') ? ['host'] : ['everyone', 'host', ...view.people.filter(p => !p.self).map(p => p.name)];
  return h('div', { class: 'chat-container', css: 'column', key: 'chat' },
    h('div', { css: 'head', key: 'head' }, h('h2', {}, t('chat')), h('button', { type: 'button', css: 'text', 'aria-label': t('chat_settings') }, svg('SvgGear'))),
    h('div', { class: 'chat-virtuoso-wrapper', css: 'scroll', key: 'log' },
      h('div', { role: 'grid', 'aria-label': t('chat_list'), drop: { 'chat-list': 'aria-label' } },
        shown.map((r, i) => {
          const before = rows[off + i - 1];
          const follows = before && before.from === r.from && before.to === r.to && r.at - before.at < 60000;
          const name = r.own ? t('you') : r.name;
          const time = new Date(r.at).toTimeString().slice(0, 5);
          return h('div', { role: 'row', key: r.id, 'aria-label': t('chat_row', { name, to: r.own ? receiver(page, r.to) : r.to === 'everyone' ? receiver(page, 'everyone') : t('you'), time, text: r.text }), drop: { 'chat-rows': 'aria-label' } },
            h('div', { role: 'gridcell' },
              h('div', { id: `chat-message-${r.id}`, class: 'new-chat-message__container' + (r.own ? ' new-chat-message--own' : ''), css: 'message' },
                follows ? null : h('div', { class: 'chat-item__user-info', key: 'who' }, h('span', { class: 'chat-message-text__user-name' }, name), h('span', { class: 'chat-item__time' }, time)),
                h('div', { class: 'new-chat-message__text-box', key: 'box' }, h('div', { class: 'new-chat-message__text-content' }, r.text)))));
        }))),
    view.chat_off ? h('div', { css: 'note', key: 'off' }, t('chat_off')) : h('div', { class: 'chat-footer', css: 'foot2', key: 'foot' },
      h('div', { class: 'chat-receiver-list__chat-control-receiver', css: 'row2', key: 'to' },
        h('button', { type: 'button', class: 'chat-receiver-list__receiver', css: 'text', 'aria-label': t('send_to', { to }), 'aria-haspopup': 'true', 'aria-expanded': String(!!page.local.choosing), drop: { 'receiver-label': 'aria-label' },
          on: { click: () => page.set({ choosing: !page.local.choosing }) } }, to),
        page.local.choosing ? h('ul', { class: 'chat-receiver-list__menu', css: 'choices', role: 'menu' },
          choices.map(c => h('li', { key: c }, h('a', { class: 'chat-receiver-list__menu-item', role: 'menuitem', href: '#', on: { click: e => { e.preventDefault(); page.tell('to', { to: c }); page.set({ choosing: false }); } } }, receiver(page, c))))) : null),
      h('div', { class: 'chat-rtf-box__editor-outer', css: 'editor', key: 'editor', keep: true, init: el => editor(el, page) }),
      h('button', { type: 'button', class: 'chat-rtf-box__send', css: 'text', 'aria-label': 'send', key: 'send', disabled: !(page.local.draft ?? '').trim(), on: { click: () => page.send?.() } }, svg('SvgSend'))));
}

// editor is the rich text field: a paragraph that takes keys, not a value.
function editor(outer, page) {
  const box = document.createElement('div');
  box.className = 'tiptap ProseMirror';
  box.contentEditable = 'true';
  box.setAttribute('role', 'textbox');
  box.setAttribute('aria-multiline', 'true');
  box.translate = false;
  const empty = () => {
    const p = document.createElement('p');
    p.className = 'is-empty is-editor-empty';
    p.dataset.placeholder = page.t('type_message');
    p.append(document.createElement('br'));
    box.replaceChildren(p);
  };
  empty();
  outer.append(box);
  const text = () => [...box.childNodes].map(n => n.innerText ?? n.textContent).join('\n').replace(/\n$/, '');
  page.send = () => {
    const said = text();
    if (!said.trim()) return;
    if ([...said].length > 1024) { page.set({ tooLong: true }); return; }
    page.tell('say', { text: said });
    empty();
    page.set({ draft: '' });
  };
  box.addEventListener('keydown', e => {
    e.stopPropagation();
    if (e.key === 'Enter' && !e.shiftKey) { e.preventDefault(); if (e.isTrusted) page.send(); }
  });
  box.addEventListener('input', () => {
    if (!box.firstElementChild || box.firstElementChild.tagName !== 'P') {
      const said = box.innerText;
      empty();
      if (said.trim()) {
        box.firstChild.textContent = said.replace(/\n$/, '');
        getSelection().selectAllChildren(box);
        getSelection().collapseToEnd();
      }
    }
    box.firstElementChild.className = text() ? '' : 'is-empty is-editor-empty';
    page.set({ draft: text() });
  });
  // What is pasted or inserted by a script's event is not what a keyboard wrote, but the client takes it all the same.
  box.addEventListener('focus', () => box.classList.add('ProseMirror-focused'));
}
