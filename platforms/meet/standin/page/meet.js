// meet.js: the stand-in's pages of Google Meet, from public facts about them.

import { Page, h, icon } from '/_shared/core.js';
import { Media } from '/_shared/media.js';
import { door } from './door.js';
import { call } from './call.js';
import { challenge, dialogs } from './dialogs.js';

// EVENTS is where viewers of an event are sent to: names below localhost are this machine's.
const EVENTS = 'stream.meet.google.com.localhost';

const words = await (await fetch('/_page/words.json')).json();

const media = new Media(page => ({ streams: 3, elements: !page.has('no-audio-elements') }));

new Page({
  words, media,
  seen(view, before, page) {
    if (view.screen !== before?.screen) {
      page.local = {};
      page.forget('button join');
      page.forget('button controls');
      const variant = { 'sign-in': '/v3/signin/identifier', variant: '/live/event', home: '/landing' }[view.screen];
      // An event is at another host, which this machine plays by a name of its own.
      if (view.screen === 'variant' && location.hostname !== EVENTS) {
        location.replace(`${location.protocol}//${EVENTS}:${location.port}/live/event`);
        return;
      }
      if (variant) history.replaceState(null, '', variant);
      if (view.screen === 'prejoin' && before === null && !page.has('device-dialog')) media.preview();
    }
    if (view.screen === 'in' && page.local.panel !== 'chat' && (view.chat?.length ?? 0) > (before?.chat?.length ?? 0)) {
      const row = view.chat.at(-1);
      if (!row.own) {
        page.local.unread = true;
        page.local.popup = row;
        setTimeout(() => { if (page.local.popup === row) page.set({ popup: null }); }, 5000);
      }
    }
    document.title = view.screen === 'in' ? 'Meet - abc-defg-hij' : page.t('tab_title');
  },
  draw(view, page) {
    const inside = view.screen === 'in';
    return [
      h('div', { id: 'sound', keep: true, key: 'sound' }),
      h('div', { class: 'kFwPee', css: inside ? 'stage' : 'door', key: view.screen, jscontroller: 'tWEQ4b', jsname: 'MDuNPe' },
        inside ? call(view, page) : door(view, page)),
      badge(),
      challenge(view, page),
      dialogs(view, page),
      h('div', { css: 'toasts', 'aria-live': 'polite', key: 'toasts' },
        (view.toasts ?? []).map(t => h('div', { class: 'fJsklc', css: 'toast', key: t.id, role: 'alert' }, h('span', {}, t.text)))),
    ];
  },
});

// badge is the invisible challenge that every join loads: its presence means nothing.
function badge() {
  return h('div', { class: 'grecaptcha-badge', css: 'badge', key: 'badge', 'data-style': 'none' },
    h('iframe', { title: 'reCAPTCHA', width: 256, height: 60, src: '/_frame/recaptcha/enterprise/anchor', role: 'presentation', tabindex: -1 }));
}

export { icon };
