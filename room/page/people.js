// people.js: who is here, as a list for everybody and as tiles for the eyes.

import { $, el, icon, set } from './dom.js';
import { t } from './words.js';

export class People {
  constructor(remove) {
    this.remove = remove;
    this.self = '';
    this.rows = new Map(); // id → {person, item, tile}
  }

  get host() { return this.rows.get(this.self)?.person.host ?? false; }
  get count() { return this.rows.size; }
  name(id) { return this.rows.get(id)?.person.name ?? ''; }

  // reset shows a whole new set of people.
  reset(self, people) {
    this.self = self;
    const here = new Set(people.map(p => p.id));
    for (const id of [...this.rows.keys()]) if (!here.has(id)) this.drop(id);
    for (const p of people) this.show(p);
    this.arrange();
  }

  // show adds a person or changes what is shown; it gives the person as shown before.
  show(person) {
    const id = person.id;
    let row = this.rows.get(id);
    const before = row?.person;
    if (!row) {
      row = { item: this.item(person), tile: this.tile(person) };
      this.rows.set(id, row);
      $('people').append(row.item);
      $('tiles').append(row.tile);
    }
    row.person = person;
    this.paint(row);
    if (id === this.self && before?.host !== person.host) for (const r of this.rows.values()) this.paint(r);
    if (!before) this.arrange();
    return before;
  }

  speaking(id, on) {
    const row = this.rows.get(id);
    if (!row) return;
    row.person.speaking = on;
    set(row.item, 'speaking', on);
    set(row.tile, 'speaking', on);
  }

  drop(id) {
    const row = this.rows.get(id);
    if (!row) return;
    if (row.item.contains(document.activeElement)) $('people-button').focus();
    row.item.remove();
    row.tile.remove();
    this.rows.delete(id);
    this.arrange();
  }

  clear() {
    for (const id of [...this.rows.keys()]) this.drop(id);
  }

  item(person) {
    const remove = el('button', { type: 'button', className: 'icon remove' }, icon('close'));
    remove.addEventListener('click', () => this.remove(person.id));
    return el('li', { data: { participantId: person.id } },
      avatar(person),
      el('span', { className: 'who' },
        el('span', { className: 'name', dir: 'auto' }),
        el('span', { className: 'status' })),
      el('span', { className: 'marks' }, mark('hand'), mark('mic-off'), mark('mic')),
      remove);
  }

  tile(person) {
    return el('div', { className: 'tile' },
      avatar(person),
      el('span', { className: 'marks' }, mark('hand'), mark('mic-off')),
      el('span', { className: 'label' }, el('span', { className: 'tile-name', dir: 'auto' })));
  }

  paint({ person, item, tile }) {
    const self = person.id === this.self;
    for (const e of [item, tile]) {
      set(e, 'self', self);
      set(e, 'host', !!person.host);
      set(e, 'muted', !!person.muted);
      set(e, 'hand', !!person.hand);
      set(e, 'lost', !!person.lost);
      set(e, 'speaking', !!person.speaking);
    }
    text(item.querySelector('.name'), person.name);
    text(tile.querySelector('.tile-name'), self ? `${person.name} (${t('people.you')})` : person.name);
    const status = [self && 'you', person.host && 'host', person.lost && 'lost', person.muted && 'muted', person.hand && 'hand'];
    text(item.querySelector('.status'), status.filter(Boolean).map(s => t('people.' + s)).join(' · '));
    const remove = item.querySelector('.remove');
    remove.hidden = self || !this.host;
    remove.setAttribute('aria-label', t('people.remove', { name: person.name }));
    remove.title = t('people.remove', { name: person.name });
  }

  arrange() {
    $('tiles').dataset.count = Math.min(this.count, 16);
    $('alone').hidden = this.count !== 1;
  }
}

function mark(name) {
  const m = icon(name);
  m.classList.add('mark-' + name);
  return m;
}

function text(e, value) {
  if (e.textContent !== value) e.textContent = value;
}

function avatar({ id, name }) {
  const letters = [...new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(name)].map(s => s.segment);
  const starts = letters.filter((l, i) => /[\p{L}\p{N}]/u.test(l) && (i === 0 || letters[i - 1] === ' '));
  const a = el('span', { className: 'avatar', ariaHidden: 'true', textContent: starts.slice(0, 2).join('').toUpperCase() || letters[0] });
  let hue = 0;
  for (const c of id) hue = (hue * 31 + c.codePointAt(0)) % 360;
  a.style.setProperty('--hue', hue);
  return a;
}
