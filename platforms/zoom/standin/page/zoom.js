// zoom.js: the stand-in's pages of Zoom's web client, from public facts about them.

import { Page, h } from '/_shared/core.js';
import { Media } from '/_shared/media.js';
import { door } from './door.js';
import { call } from './call.js';
import { challenge, cookies, dialogs } from './dialogs.js';

const flags = await (await fetch('/_standin/flags')).json();

// Sometimes the whole client is in a frame of the same origin.
if (flags.includes('iframe') && self === top) {
  const frame = document.createElement('iframe');
  frame.id = 'webclient';
  frame.allow = 'microphone; camera; autoplay';
  frame.style = 'position:fixed;inset:0;width:100%;height:100%;border:0';
  frame.src = location.href;
  document.body.append(frame);
} else {
  await start();
}

async function start() {
  const words = await (await fetch('/_page/words.json')).json();
  // One mixed stream carries everybody.
  const media = new Media({ streams: 1, elements: !flags.includes('no-audio-elements') });
  const meeting = /\d{9,11}/.exec(location.pathname)?.[0] ?? '81234567890';
  const moves = { 'sign-in': '/signin', left: `/wc/${meeting}/join`, denied: `/wc/${meeting}/join`, joining: '/wc-loading/', in: `/wc/${meeting}/start` };

  new Page({
    words, media,
    seen(view, before, page) {
      if (view.screen !== before?.screen) {
        page.local = { bar: true };
        page.forget('button join');
        page.forget('button leave');
        if (view.screen === 'prejoin' && !before && !page.has('device-prompt')) media.preview();
        if (moves[view.screen] && before) history.replaceState(null, '', moves[view.screen] + location.search);
      }
      if (view.screen === 'in' && page.local.panel !== 'chat') {
        const fresh = (view.chat?.length ?? 0) - (before?.chat?.length ?? 0);
        if (fresh > 0) page.local.unread = (page.local.unread ?? 0) + fresh;
      }
      const speaker = view.people?.find(p => p.speaking && !p.self);
      if (speaker) page.local.main = speaker.n;
      const title = { invalid: page.t('error_title'), left: page.t('join_title'), denied: page.t('join_title'), prejoin: page.t('join_title') }[view.screen] ?? 'Zoom';
      (self === top ? document : top.document).title = title;
    },
    draw(view, page) {
      const app = ['in', 'waiting', 'joining'].includes(view.screen);
      return [
        h('div', { id: 'sound', keep: true, key: 'sound' }),
        h('div', { id: 'root', key: 'root' },
          app ? h('div', { class: 'meeting-app', css: 'app', key: 'app' }, call(view, page)) : door(view, page)),
        challenge(view, page),
        dialogs(view, page),
        cookies(view, page),
        h('div', { css: 'toasts', key: 'toasts' },
          (view.toasts ?? []).map(t => h('div', { class: 'notification-message', css: 'toast', key: t.id, role: 'alert' }, h('span', {}, t.text)))),
      ];
    },
  });
}
