// room.js: the screens of the page, and what happens on them.

import { Chat } from './chat.js';
import { $, el, set, setIcon } from './dom.js';
import { People } from './people.js';
import { Signal } from './signal.js';
import { Microphone, Sound } from './sound.js';
import { apart, load, t } from './words.js';

const room = decodeURIComponent(location.pathname.split('/').filter(Boolean).pop());
const hostKey = new URLSearchParams(location.hash.slice(1)).get('host') ?? '';
const link = location.origin + location.pathname;
const wide = matchMedia('(min-width: 900px)');

await load();

let signal = null;
let name = '';
let muted = true; // what the room was told
let unread = 0;

const microphone = new Microphone(micChanged);
const sound = new Sound($('sound'), microphone, message => signal?.put(message), () => { $('play-sound').hidden = false; });
const people = new People(id => signal.put({ type: 'remove', id }));
const chat = new Chat(message => signal.put(message), line => {
  if (!$('chat-panel').hidden) return;
  unread++;
  paintButtons();
  say(t('chat.from', { name: apart(line.name) }));
});

// ---- screens

function screen(which) {
  document.body.dataset.screen = which;
  for (const id of ['lobby', 'waiting', 'call', 'ended']) $(id).hidden = id !== which;
}

for (const title of document.querySelectorAll('.room-name')) title.textContent = room;
document.title = room;
$('name').value = new URLSearchParams(location.search).get('name') ?? remembered();
micChanged();
paintButtons();
if (navigator.mediaDevices) microphone.prepare();
else $('lobby-insecure').hidden = false;

function remembered() {
  try { return localStorage.getItem('parley-name') ?? ''; } catch { return ''; }
}

function remember() {
  try { localStorage.setItem('parley-name', name); } catch { /* the browser keeps nothing; then it is asked again */ }
}

$('lobby-form').addEventListener('submit', event => { event.preventDefault(); enter(); });
$('name').addEventListener('input', () => lobbyError(''));
$('rejoin').addEventListener('click', () => {
  screen('lobby');
  enter();
});
$('waiting-leave').addEventListener('click', () => { signal.leave(); finish('left'); });

function lobbyError(text) {
  $('lobby-error').textContent = text;
  $('name').toggleAttribute('aria-invalid', !!text);
}

function enter() {
  name = $('name').value.trim();
  const length = [...name].length;
  if (length < 1 || length > 60) {
    lobbyError(t('lobby.badName'));
    $('name').focus();
    return;
  }
  if (signal && !signal.over) return;
  lobbyError('');
  joining(true);
  if (microphone.wanted && !microphone.track) microphone.open();
  muted = microphone.state !== 'on';
  signal = new Signal(heard, connection);
  signal.join(() => ({ name, muted, key: hostKey }));
}

function joining(on) {
  $('join').disabled = on;
  $('join').textContent = t(on ? 'lobby.joining' : 'lobby.join');
}

// finish shows why the reader is out.
function finish(why) {
  joining(false);
  sound.end();
  people.clear();
  for (const id of [...$('knock-list').children].map(k => k.dataset.waiterId)) unknock(id);
  $('notes').replaceChildren();
  banner('');
  microphone.close();
  chat.reset('');
  screen('ended');
  $('ended-text').textContent = t('ended.' + why);
  $('ended').dataset.reason = why;
  document.title = t('ended.' + why);
  $('rejoin').focus();
}

// ---- what the room says

function connection(state) {
  if (state === 'open') banner('');
  if (state === 'lost') banner(t('call.reconnecting'));
  if (state !== 'gone') return;
  if (signal.token) return finish('lost');
  joining(false);
  screen('lobby');
  lobbyError(t('lobby.unreachable'));
  signal = null;
}

const does = {
  waiting() {
    remember();
    screen('waiting');
    $('waiting-text').textContent = t('waiting.text');
    document.title = t('waiting.text');
  },
  welcome(n) {
    remember();
    joining(false);
    const fresh = document.body.dataset.screen !== 'call';
    chat.reset(n.self);
    people.reset(n.self, n.people);
    knocks(n.waiters ?? []);
    for (const line of n.chat ?? []) chat.add(line);
    paintButtons();
    if (fresh) {
      screen('call');
      document.title = room;
      unread = 0;
      panel('people', wide.matches);
      panel('chat', false);
      $('mic').focus({ focusVisible: false });
    }
    tellMuted();
  },
  refused({ reason }) {
    if (reason === 'bad-name') {
      joining(false);
      screen('lobby');
      lobbyError(t('lobby.badName'));
      $('name').focus();
      signal = null;
      return;
    }
    finish({ declined: 'declined', full: 'full', busy: 'busy', 'shut-down': 'ended' }[reason] ?? 'protocol');
  },
  ended({ reason }) {
    finish({ left: 'left', removed: 'removed', ended: 'ended', 'shut-down': 'ended', replaced: 'replaced' }[reason] ?? 'protocol');
  },
  offer(n) { sound.offer(n); },
  here({ person }) {
    const before = people.show(person);
    paintButtons();
    if (!before) note(t('people.came', { name: apart(person.name) }));
    else if (person.hand && !before.hand && person.id !== people.self) note(t('people.raised', { name: apart(person.name) }));
    else if (person.id === people.self && person.host && !before.host) note(t('host.now'));
  },
  gone({ id, reason }) {
    const who = people.name(id);
    people.drop(id);
    sound.drop(id);
    paintButtons();
    note(t(reason === 'removed' ? 'people.removed' : 'people.left', { name: apart(who) }));
  },
  speaking({ id, on }) { people.speaking(id, on); },
  chat(line) { chat.add(line); },
  knock({ waiter }) { knock(waiter); },
  unknock({ id }) { unknock(id); },
  problem(n) {
    if (n.code === 'bad-chat' || n.code === 'too-fast') return chat.refused(n);
    note(t({ 'not-host': 'problem.notHost', full: 'problem.full' }[n.code] ?? 'problem.other'));
  },
};

function heard(notice) {
  if (Object.hasOwn(does, notice.type)) does[notice.type](notice);
}

// ---- those at the door

function knocks(waiters) {
  const now = new Set(waiters.map(w => w.id));
  for (const k of [...$('knock-list').children]) if (!now.has(k.dataset.waiterId)) unknock(k.dataset.waiterId);
  waiters.forEach(knock);
}

function knock({ id, name: who }) {
  if ([...$('knock-list').children].some(k => k.dataset.waiterId === id)) return;
  const button = (what, className) => {
    const b = el('button', { type: 'button', className, textContent: t('knock.' + what) });
    b.setAttribute('aria-label', t(`knock.${what}Who`, { name: who }));
    b.addEventListener('click', () => signal.put({ type: what, id }));
    return b;
  };
  $('knock-list').append(el('li', { data: { waiterId: id } },
    el('span', { className: 'name', dir: 'auto', textContent: who }), button('admit', 'primary'), button('decline', '')));
  $('knocks').hidden = false;
  say(t('knock.note', { name: who }));
}

function unknock(id) {
  for (const k of [...$('knock-list').children]) {
    if (k.dataset.waiterId !== id) continue;
    if (k.contains(document.activeElement)) $('mic').focus();
    k.remove();
  }
  $('knocks').hidden = !$('knock-list').childElementCount;
}

// ---- controls

function micChanged() {
  for (const id of ['mic', 'lobby-mic']) {
    const b = $(id);
    const on = id === 'mic' ? microphone.state === 'on' : microphone.wanted && !microphone.blocked;
    set(b, 'state', microphone.blocked ? 'blocked' : on ? 'on' : 'off');
    b.setAttribute('aria-pressed', String(!on));
    label(b, t(on ? 'mic.mute' : 'mic.unmute'), t(on ? 'mic.short.mute' : 'mic.short.unmute'));
    setIcon(b, on ? 'mic' : 'mic-off');
  }
  $('lobby-mic-text').textContent = t('mic.' + $('lobby-mic').dataset.state);
  if (microphone.blocked && document.body.dataset.screen === 'call') note(t('mic.blocked'));
  sound?.attach();
  tellMuted();
}

function tellMuted() {
  const now = microphone.state !== 'on';
  if (now !== muted && signal?.put({ type: 'mute', muted: now })) muted = now;
}

function toggleMic() {
  microphone.blocked ? microphone.set(true).then(() => microphone.blocked && microphone.open()) : microphone.set($('mic').dataset.state !== 'on');
}

$('lobby-mic').addEventListener('click', () => {
  if (microphone.blocked) { microphone.wanted = true; microphone.open(); return; }
  // Before the room nothing is opened that would ask: the choice alone counts.
  microphone.wanted = !microphone.wanted;
  if (microphone.track) microphone.track.enabled = microphone.wanted;
  micChanged();
});
$('original').addEventListener('change', event => microphone.setOriginal(event.target.checked));
$('mic').addEventListener('click', toggleMic);
$('hand').addEventListener('click', () => signal.put({ type: 'hand', up: $('hand').getAttribute('aria-pressed') !== 'true' }));
$('chat-button').addEventListener('click', () => panel('chat', $('chat-panel').hidden, true));
$('people-button').addEventListener('click', () => panel('people', $('people-panel').hidden, true));
$('copy').addEventListener('click', copyLink);
$('leave').addEventListener('click', () => { signal.leave(); finish('left'); });
// Ending is for everyone and cannot be undone: the button asks once more.
let sure;
$('end-all').addEventListener('click', () => {
  if (!sure) {
    $('end-all').textContent = t('host.endSure');
    sure = setTimeout(calm, 4000);
    return;
  }
  calm();
  signal.put({ type: 'end-all' });
});
$('end-all').addEventListener('blur', calm);
function calm() {
  clearTimeout(sure);
  sure = undefined;
  $('end-all').textContent = t('host.end');
}
$('play-sound').addEventListener('click', () => { $('play-sound').hidden = true; sound.resume(); });
for (const b of document.querySelectorAll('[data-close]')) b.addEventListener('click', () => panel(b.dataset.close, false, true));

async function copyLink() {
  try {
    await navigator.clipboard.writeText(link);
    note(t('link.copied'));
  } catch {
    note(t('link.failed', { link }), 15000);
  }
}

function label(button, full, short) {
  if (button.getAttribute('aria-label') !== full) button.setAttribute('aria-label', full);
  button.title = full;
  button.querySelector('.caption').textContent = short;
}

function paintButtons() {
  const self = people.rows.get(people.self)?.person;
  const up = !!self?.hand;
  $('hand').setAttribute('aria-pressed', String(up));
  label($('hand'), t(up ? 'hand.lower' : 'hand.raise'), t(up ? 'hand.short.lower' : 'hand.short.raise'));
  label($('chat-button'), unread ? t('chat.unread', { n: unread }) : t('chat.title'), t('chat.short'));
  badge($('chat-button'), unread);
  label($('people-button'), t('people.count', { n: people.count }), t('people.short'));
  badge($('people-button'), people.count);
  label($('copy'), t('link.copy'), t('link.short'));
  label($('leave'), t('leave'), t('leave.short'));
  $('host-tools').hidden = !people.host;
}

function badge(button, n) {
  const b = button.querySelector('.badge');
  b.hidden = !n;
  b.textContent = n > 99 ? '99+' : n;
}

// panel shows or hides one of the panels; on a narrow screen there is room for one.
function panel(which, open, moveFocus = false) {
  const box = $(which + '-panel');
  const button = $(which + '-button');
  box.hidden = !open;
  button.setAttribute('aria-expanded', String(open));
  if (open && !wide.matches) {
    const other = which === 'chat' ? 'people' : 'chat';
    if (!$(other + '-panel').hidden) panel(other, false);
  }
  document.body.dataset.panels = ['people', 'chat'].filter(p => !$(p + '-panel').hidden).join(' ');
  if (which === 'chat' && open) {
    unread = 0;
    paintButtons();
    $('chat-log').scrollTop = $('chat-log').scrollHeight;
  }
  if (!moveFocus) return;
  if (!open) button.focus();
  else if (which === 'chat') $('message').focus();
  else box.querySelector('[data-close]').focus();
}

document.addEventListener('keydown', event => {
  if (document.body.dataset.screen !== 'call') return;
  if (event.key === 'Escape') {
    const box = document.activeElement?.closest('.panel');
    if (box) panel(box.id.replace('-panel', ''), false, true);
    return;
  }
  const key = { KeyM: 'mic', KeyH: 'hand', KeyC: 'chat-button', KeyP: 'people-button' }[event.code];
  if (key && event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    $(key).click();
  }
});

// Arrow keys walk along the toolbar.
$('controls').addEventListener('keydown', event => {
  const all = [...$('controls').querySelectorAll('button')];
  const at = all.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  all[(to + all.length) % all.length].focus();
});

// ---- telling the reader

function banner(text) { $('banner').textContent = text; }

// say has a screen reader speak, also when it is the same again.
let saying;
function say(text) {
  $('announce').textContent = '';
  clearTimeout(saying);
  saying = setTimeout(() => { $('announce').textContent = text; }, 60);
}

// note shows a line for a moment, and has it spoken.
function note(text, stays = 4000) {
  say(text);
  const line = el('p', { textContent: text });
  $('notes').append(line);
  while ($('notes').childElementCount > 3) $('notes').firstElementChild.remove();
  setTimeout(() => line.remove(), stays);
}

// A page that goes away gives its seat up; one that the browser only froze comes back to it.
addEventListener('pagehide', event => { if (!event.persisted && signal && !signal.over) signal.leave(); });
