// read tells what Google Meet's page shows beside its signs. Whoever is named here is named by the tile, the list or the
// row that carries the mark: a mark that is missing names nobody, never somebody else.
(kit, words, c) => {
	const YOU = new Set(c.flat(words.you.names).map(kit.fold)), PHANTOM = c.flat(words.phantom.texts).map(kit.fold), SHARING = c.flat(words.sharing.texts).map(kit.fold), HOST = c.flat(words.host.texts).map(kit.fold);
	const clean = (s) => c.line(s.replace(/\((?:[^()]{1,12})\)$/, (m) => YOU.has(kit.fold(m.slice(1, -1))) ? '' : m));

	const nameOfTile = (tile) => {
		for (const el of tile.querySelectorAll(words.person.selector)) { const t = c.line(c.read(el)); if (t) return t; }
		const said = tile.getAttribute('data-self-name') || (tile.querySelector('[data-self-name]') || { getAttribute: () => '' }).getAttribute('data-self-name');
		return said ? c.line(said) : c.line(c.read(tile).split('\n')[0]);
	};
	const speaks = (tile) => [tile, ...tile.querySelectorAll('[data-audio-level], ' + words.speaking.selector)].some((el) => (Number(el.getAttribute && el.getAttribute('data-audio-level')) || 0) > 0 || el.matches(words.speaking.selector));
	const silent = (tile) => words.silent && !!tile.querySelector(words.silent.selector);

	const people = () => {
		const found = new Map();
		for (const tile of c.query(words.tile.selector)) {
			if (!kit.visible(tile)) continue;
			const id = tile.getAttribute('data-participant-id') || '', name = nameOfTile(tile), folded = kit.fold(name);
			if (!id || !name || PHANTOM.some((p) => folded.includes(p)) || SHARING.some((p) => folded.includes(p))) continue;
			const self = tile.hasAttribute('data-self-name') || !!tile.querySelector('[data-self-name]') || YOU.has(folded);
			const p = found.get(id) || { id, name: clean(name), self, host: false, muted: false, hand: false, speaking: false };
			p.self = p.self || self;
			p.muted = p.muted || c.shows(tile, 'mic_off');
			p.hand = p.hand || c.shows(tile, 'back_hand', 'front_hand', 'pan_tool');
			p.speaking = p.speaking || (speaks(tile) && !silent(tile));
			found.set(id, p);
		}
		for (const item of c.query(words.listed.selector)) {
			if (!kit.visible(item)) continue;
			const text = kit.fold(c.read(item)), label = c.line(item.getAttribute('aria-label') || c.read(item).split('\n')[0]);
			if (!label) continue;
			const id = item.getAttribute('data-participant-id') || '', host = HOST.some((h) => text.includes(h));
			const self = /\(/.test(text) && [...YOU].some((y) => text.includes('(' + y + ')'));
			const same = [...found.values()].find((p) => id ? p.id === id : p.name === clean(label));
			if (same) { same.host = same.host || host; same.self = same.self || self; continue; }
			found.set(id || 'name:' + label, { id: id || 'name:' + label, name: clean(label), self, host, muted: false, hand: false, speaking: false });
		}
		return found.size ? [...found.values()].slice(0, 200) : null;
	};

	// The count is in the name of the people's button, or in a badge beside it. Where it is not, nobody knows it.
	const count = () => {
		for (const el of c.all(words.people)) {
			const m = /^\D*?(\d{1,4})\D*$/.exec(c.line(kit.nameOf(el)));
			if (m) return Number(m[1]);
			const near = el.parentElement ? c.line(c.read(el.parentElement) + ' ' + c.read(el)) : '';
			const badge = /(?:^|\s)(\d{1,4})(?:\s|$)/.exec(near);
			if (badge) return Number(badge[1]);
		}
		return null;
	};

	const TIME = /^\d{1,2}[:.]\d{2}(\s*[ap]\.?m\.?)?$/i;
	// The sender stands once above all rows of a group: the nearest text above that is no row and no time.
	const senderOf = (row, text) => {
		for (let group = row.parentElement, depth = 0; group && depth < 6; group = group.parentElement, depth++) {
			const before = [];
			for (const el of group.children) {
				if (el === row || el.contains(row) || el.matches('[data-message-id]') || el.querySelector('[data-message-id]')) break;
				before.push(...c.read(el).split('\n'));
			}
			const said = before.map((s) => c.line(s)).find((s) => s && !TIME.test(s) && s !== text);
			if (said) return said;
			if (group.querySelectorAll('[data-message-id]').length > 1 && group.parentElement && group.parentElement.querySelector('[data-message-id]') !== group.querySelector('[data-message-id]')) break;
		}
		return '';
	};
	const messages = () => c.query('[data-message-id]').filter((row) => !row.querySelector('[data-message-id]')).slice(-60).map((row) => {
		const body = row.querySelector(words.body.selector), text = kit.clip((body ? c.read(body) : c.read(row)), 8192);
		const sender = senderOf(row, text), marked = !!row.closest(words.own.selector); // a mark is the page's; what a sender is called is anybody's choice
		return { id: row.getAttribute('data-message-id'), own: marked || YOU.has(kit.fold(sender)), marked, sender, text };
	});

	const captions = () => {
		const out = [];
		for (const region of c.query(words.captions.selector)) {
			if (!kit.visible(region)) continue;
			for (const block of region.querySelectorAll(words.caption.selector)) {
				const by = block.querySelector(words.captioned.selector), body = block.querySelector(words.captiontext.selector);
				const lines = c.read(block).split('\n');
				const name = by ? c.line(by.textContent) : lines.length > 1 ? c.line(lines[0]) : '';
				if (!name || YOU.has(kit.fold(name))) continue;
				out.push({ id: 'c' + c.number(block), name, text: kit.clip(body ? body.textContent : lines.slice(1).join(' '), 400) });
			}
		}
		return out.slice(-8);
	};

	const withIcon = (on, off) => (el) => el.hasAttribute('data-is-muted') ? {} : c.shows(el, off) ? { 'data-is-muted': 'true' } : c.shows(el, on) ? { 'data-is-muted': 'false' } : {};
	return () => {
		const field = c.find(words.message);
		return {
			here: c.here(), microphone: c.control(words.microphone, withIcon('mic', 'mic_off')), camera: c.control(words.camera, withIcon('videocam', 'videocam_off')),
			people: people(), count: count(), always: false,
			chat: { open: !!field, off: !!field && kit.disabled(field), to: '' },
			messages: messages(), captions: captions(), dialogs: c.dialogs(),
		};
	};
}
