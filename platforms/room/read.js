// read tells what the room's page shows beside its signs: devices, hand, people, who speaks, what was written, dialogs.
(kit, words) => {
	const all = (w) => Object.values(w.names || {}).flat();
	const find = (w) => kit.find({ role: w.role, selector: w.selector, within: w.within, names: all(w), exact: w.exact });
	// The lists may be folded away on a narrow screen; they are read all the same.
	const hidden = (w) => kit.roots(document).flatMap((r) => [...r.querySelectorAll(`[role="${w.role}"]`)]).find((el) => all(w).some((n) => kit.fold(n) === kit.fold(kit.nameOf(el))));
	const text = (el, selector, n) => { const e = el.querySelector(selector); return e ? kit.clip(e.textContent, n) : ''; };
	const yes = (el, key) => el.dataset[key] === 'true';

	const control = (w) => {
		const el = find(w);
		return el ? { found: true, enabled: !kit.disabled(el), name: kit.clip(kit.nameOf(el), 100), attrs: { 'data-state': el.dataset.state || '', 'aria-pressed': el.getAttribute('aria-pressed') || '' } } : { found: false };
	};
	const people = () => {
		const list = hidden(words.people);
		if (!list) return null;
		return [...list.querySelectorAll('[data-participant-id]')].slice(0, 64).map((el) => ({
			id: kit.clip(el.dataset.participantId, 64), name: text(el, '.name', 256),
			self: yes(el, 'self'), host: yes(el, 'host'), muted: yes(el, 'muted'), hand: yes(el, 'hand'), speaking: yes(el, 'speaking'),
		}));
	};
	// Messages are told once a document; the reader of the reports knows their ids as well.
	let told = new Set();
	const messages = () => {
		const log = hidden(words.log);
		if (!log) { told = new Set(); return []; }
		const rows = [...log.querySelectorAll('[data-message-id]')].slice(-100);
		if (!rows.length) told = new Set();
		const fresh = rows.filter((el) => !told.has(el.dataset.messageId)).slice(0, 50);
		for (const el of fresh) told.add(el.dataset.messageId);
		return fresh.map((el) => ({
			id: kit.clip(el.dataset.messageId, 64), from: kit.clip(el.dataset.senderId || '', 64), own: yes(el, 'own'),
			sender: text(el, '.sender', 256), text: text(el, '.text', 8192), at: (el.querySelector('time') || {}).dateTime || '',
		}));
	};
	const ids = new WeakMap();
	let last = 0;
	const dialogs = () => kit.all({ selector: words.dialog.selector }).slice(0, 8).map((el) => {
		if (!ids.has(el)) ids.set(el, ++last);
		return {
			id: 'd' + ids.get(el), text: kit.clip(kit.content(el).replace(/\s+/g, ' ').trim(), 1000),
			choices: [...el.querySelectorAll('button, [role=button]')].filter(kit.visible).slice(0, 12).map((b) => kit.clip(kit.nameOf(b), 100)).filter(Boolean),
		};
	});

	return () => ({ microphone: control(words.microphone), hand: control(words.hand), people: people(), messages: messages(), dialogs: dialogs() });
}
