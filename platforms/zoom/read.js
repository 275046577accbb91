// read tells what Zoom's web client shows beside its signs, in both of its clients.
(kit, words, c) => {
	const YOU = new Set(c.flat(words.you.names).map(kit.fold)), HOST = c.flat(words.host.texts).map(kit.fold), ALL = c.flat(words.everyone.texts).map(kit.fold);
	const PRIVATE = c.flat(words.private.texts).map(kit.fold);

	// A person's line: "Ada Lovelace (Host, me), computer audio muted, video off". Names have commas and brackets of their own
	// ("Lovelace, Ada (she/her)"): the last brackets before what is on or off are roles, where they hold one.
	const ROLES = new Set(['host', 'co-host', 'me', 'guest', ...HOST, ...YOU]);
	const bare = (text) => {
		const m = /^(.*?)\s*\(([^()]*)\)[^()]*$/.exec(text), roles = m ? m[2].split(',').map((s) => kit.fold(s)) : [];
		return roles.some((r) => ROLES.has(r)) ? { name: m[1].trim(), roles } : { name: text.trim(), roles: [] };
	};
	const person = (label) => {
		const before = label.split(/,\s*(?=[^,()]*\b(?:audio|video|muted|unmuted)\b)/i)[0], p = bare(before);
		if (before === label && !p.roles.length) p.name = label.split(', ')[0]; // what is on or off is said in words that we do not know
		return p;
	};
	// Somebody has no id on the page: the name is it, numbered where several have it.
	const unique = (list) => { const n = new Map(); for (const p of list) { const k = (n.get(p.name) || 0) + 1; n.set(p.name, k); p.id = 'name:' + p.name + (k > 1 ? '#' + k : ''); } return list; };
	const listed = () => unique(c.query(words.listed.selector).filter(kit.visible).slice(0, 300).map((el) => {
		const label = c.line(el.getAttribute('aria-label') || kit.content(el)), folded = kit.fold(label);
		const shown = el.querySelector(words.listedname.selector);
		const said = person(label), name = shown ? bare(c.line(c.read(shown))).name : said.name, parts = said.roles;
		return { id: '', name, self: parts.some((p) => YOU.has(p)), host: parts.some((p) => HOST.includes(p)),
			muted: /\bmuted\b/.test(folded) && !/\bunmuted\b/.test(folded), hand: /hand raised|raised hand/.test(folded) || c.shows(el, 'hand'), speaking: false };
	}).filter((p) => p.name));

	const nameIn = (frame) => { const el = frame.querySelector(words.framename.selector); return el ? c.line(c.read(el)) : ''; };
	// speaking are the names in the frames that are marked; stage says that the frame always shows somebody.
	const speaking = () => {
		const marked = c.query(words.marked.selector).filter(kit.visible).map(nameIn).filter(Boolean);
		if (marked.length) return { names: marked, stage: false };
		for (const w of [words.stage, ...(words.stage.or || [])]) {
			const names = c.query(w.selector).filter(kit.visible).map(nameIn).filter(Boolean);
			if (names.length) return { names: names.slice(0, 1), stage: true };
		}
		return { names: [], stage: false };
	};

	const people = () => {
		const list = listed(), whole = list.length > 0, tiles = c.query(words.tile.selector).filter(kit.visible).map(nameIn).filter(Boolean);
		const now = speaking(), names = new Map(list.map((p) => [p.name, p]));
		for (const name of new Set([...tiles, ...now.names])) if (!names.has(name) && !list.length) { const p = { id: 'name:' + name, name, self: YOU.has(kit.fold(name)), host: false, muted: false, hand: false, speaking: false }; names.set(name, p); list.push(p); }
		for (const name of now.names) { const p = names.get(name); if (p) p.speaking = true; }
		return { list: list.length ? list : null, stage: now.stage, whole };
	};

	// The count stands in the name of the people's button, in the panel's head, or is the list's length where it is whole.
	const count = () => {
		for (const el of c.all(words.people)) {
			const m = /(\d{1,4})/.exec(c.line(kit.nameOf(el))) || /(?:^|\s)(\d{1,4})(?:\s|$)/.exec(c.line(c.read(el)));
			if (m) return Number(m[1]);
		}
		for (const el of c.query(words.peoplehead.selector)) { const m = /\((\d{1,4})\)/.exec(c.line(c.read(el))); if (m && kit.visible(el)) return Number(m[1]); }
		for (const el of c.query(words.list.selector)) {
			if (!kit.visible(el)) continue;
			const m = /(\d{1,4})/.exec(el.getAttribute('aria-label') || '');
			if (m) return Number(m[1]);
			const items = el.querySelectorAll(words.listed.selector).length;
			if (items && el.scrollHeight <= el.clientHeight + 4) return items; // nothing is scrolled away
			const size = el.querySelector('[aria-setsize]');
			if (size && Number(size.getAttribute('aria-setsize')) > 0) return Number(size.getAttribute('aria-setsize'));
		}
		return null;
	};

	const CLOCK = /\d{1,2}[:.]\d{2}/;
	// unknown reads a row's label in a language whose word for "to" we do not know: who, when, what.
	const unknown = (label) => { const m = /^([^,]{1,240}), ([^,]{3,20}), ([\s\S]*)$/.exec(label); return m && CLOCK.test(m[2]) ? [m[0], m[1], '', m[2], m[3]] : null; };
	// rest is what a row shows below its head, where nothing says which part of it is the text.
	const rest = (row) => {
		const lines = c.read(row).split('\n').filter(Boolean);
		const clock = lines.findIndex((l) => CLOCK.test(l) && l.length < 80);
		return lines.slice(clock >= 0 && clock < lines.length - 1 ? clock + 1 : lines.length > 1 ? 1 : 0).join('\n');
	};

	// A row says "<sender> to <receiver>, <time>, <text>"; several in a row of one sender have the name once.
	const messages = () => {
		let sender = '', out = [];
		const alike = new Map();
		const SAID = /^(.{1,120}?) (?:to|an|для|до|кому|всем) (.{1,120}?), ([^,]{3,20}), ([\s\S]*)$/;
		const said_of = (label) => { const m = SAID.exec(label); return m && CLOCK.test(m[3]) ? m : unknown(label) || m; };
		let rows = [];
		for (const w of c.ways(words.entry)) {
			rows = c.query(w.selector).filter((r) => !r.querySelector(w.selector));
			if (w === words.entry) rows = rows.filter((r) => said_of(r.getAttribute('aria-label') || ''));
			if (rows.length) break;
		}
		for (const row of rows.slice(-80)) {
			const by = row.querySelector(words.sender.selector), body = row.querySelector(words.body.selector);
			const labelled = row.matches('[role="row"][aria-label]') ? row : row.querySelector('[role="row"][aria-label]') || row.closest('[role="row"][aria-label]');
			const label = labelled ? labelled.getAttribute('aria-label') : '';
			const said = said_of(label);
			const shown = by ? c.line(by.textContent) : said ? c.line(said[1]) : '';
			if (shown) sender = shown;
			const head = row.querySelector(words.receivershown.selector);
			const to = said ? c.line(said[2]) : head ? c.line(head.textContent) : '';
			// Where the text stands in another place than we know, the label has it, and what is left of the row.
			const shownText = body ? c.read(body) : '';
			const text = shownText || (said ? said[4] : /^chat-message-.*\d/.test(row.id) ? rest(row) : '');
			if (!text) continue; // who came and went
			const marks = kit.fold((head ? head.textContent : '') + ' ' + to);
			// A mark is the page's; what a sender is called is anybody's choice.
			const marked = !!row.querySelector(words.own.selector) || row.matches(words.own.selector), own = marked || YOU.has(kit.fold(sender));
			// A row that is drawn anew keeps its id, where it has one; else what it says is its name.
			const said_ = [row, labelled, ...row.querySelectorAll('[id]')].find((el) => el && /^chat-message-.*\d/.test(el.id));
			const key = sender + '|' + to + '|' + (said ? said[3] : '') + '|' + text, nth = (alike.get(key) || 0) + 1;
			alike.set(key, nth);
			out.push({
				id: said_ ? said_.id : 'm' + c.hash(key) + '-' + nth, own, marked, sender, text: kit.clip(text, 8192), to,
				private: PRIVATE.some((p) => marks.includes(p)) || (to !== '' && !ALL.some((a) => kit.fold(to).includes(a))),
			});
		}
		return out;
	};

	const captions = () => {
		const out = [];
		for (const box of c.query(words.caption.selector)) {
			if (!kit.visible(box)) continue;
			const by = box.querySelector(words.captioned.selector), body = box.querySelector(words.captiontext.selector);
			if (by && body) out.push({ id: 'c' + c.number(box), name: c.line(by.textContent), text: kit.clip(body.textContent, 400) });
		}
		return out.slice(-8);
	};

	// The icon says it where the name is in a language that we do not know.
	const named = (w) => { const known = c.ways(w).flatMap((x) => c.flat(x.names)).map(kit.fold); return (el) => known.some((k) => kit.fold(kit.nameOf(el)).includes(k)); };
	const svg = (w, off, on) => (el) => named(w)(el) ? {} : el.querySelector(off) ? { 'data-icon': 'off' } : el.querySelector(on) ? { 'data-icon': 'on' } : {};
	const toFound = () => { const el = c.find(words.receiver); return el ? c.line(kit.nameOf(el) + ' ' + c.read(el), 200) : ''; };
	return () => {
		const field = c.find(words.message), who = people();
		return {
			here: c.here(), microphone: c.control(words.microphone, svg(words.microphone, 'svg.SvgAudioUnmute', 'svg.SvgAudioMute')), camera: c.control(words.camera, svg(words.camera, 'svg.SvgVideoOff', 'svg.SvgVideoOn')),
			people: who.list, whole: who.whole, count: count(), always: who.stage,
			chat: { open: !!field, off: !!field && kit.disabled(field), to: toFound() },
			messages: messages(), captions: captions(), dialogs: c.dialogs(),
		};
	};
}
