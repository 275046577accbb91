// chat.js: what is written in the room.

import { $, el } from './dom.js';
import { language, t } from './words.js';

const kept = 500;

export class Chat {
  // send gives a message to the room and says whether there is a connection.
  constructor(send, unread) {
    this.send = send;
    this.unread = unread;
    this.self = '';
    this.last = 0;
    this.refs = new Map(); // ref → text that waits to be echoed
    this.next = 0;
    this.clock = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit' });
    $('chat-form').addEventListener('submit', event => { event.preventDefault(); this.submit(); });
    $('message').addEventListener('keydown', event => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    });
    $('message').addEventListener('input', () => { this.problem(''); grow(); });
  }

  submit() {
    const field = $('message');
    const text = field.value;
    if (!text.trim()) return;
    const ref = String(++this.next);
    if (!this.send({ type: 'say', text, ref })) return this.problem(t('chat.notSent'));
    this.refs.set(ref, text);
    if (this.refs.size > 20) this.refs.delete(this.refs.keys().next().value);
    field.value = '';
    grow();
    this.problem('');
    field.focus();
  }

  problem(text) { $('chat-error').textContent = text; }

  // refused says why a message was not taken, and gives the writer their words back.
  refused({ code, ref }) {
    this.problem(t(code === 'too-fast' ? 'chat.tooFast' : 'chat.tooLong'));
    const field = $('message');
    if (!field.value && this.refs.has(ref)) { field.value = this.refs.get(ref); grow(); }
    this.refs.delete(ref);
  }

  // add shows a message once, whether it comes as it is said or after coming back.
  add(line) {
    if (line.seq <= this.last) return false;
    this.last = line.seq;
    const log = $('chat-log');
    const own = line.from === this.self;
    const end = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
    const at = new Date(line.at);
    const before = log.lastElementChild;
    log.append(el('div', { className: 'message', data: { messageId: line.seq, senderId: line.from, own, follows: before?.dataset.senderId === line.from } },
      el('span', { className: 'head' },
        el('span', { className: 'sender', dir: 'auto', textContent: line.name }),
        el('time', { dateTime: at.toISOString(), textContent: this.clock.format(at) })),
      el('p', { className: 'text', dir: 'auto', textContent: line.text })));
    while (log.childElementCount > kept) log.firstElementChild.remove();
    $('chat-empty').hidden = true;
    if (end || own) log.scrollTop = log.scrollHeight;
    if (!own) this.unread(line);
    return true;
  }

  reset(self) {
    if (this.self === self) return;
    this.self = self;
    this.last = 0;
    this.refs.clear();
    $('chat-log').replaceChildren();
    $('chat-empty').hidden = false;
    $('message').value = '';
    this.problem('');
  }
}

function grow() {
  const field = $('message');
  field.style.height = 'auto';
  const needs = field.scrollHeight + field.offsetHeight - field.clientHeight;
  field.style.height = Math.min(needs, 140) + 'px';
  field.style.overflowY = needs > 140 ? 'auto' : 'hidden';
}
