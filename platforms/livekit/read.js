// read tells what LiveKit's prebuilt conference shows beside its signs: devices, people, who speaks, what was written,
// dialogs. The page shows names and no identities, so that a person's id is made of the name.
(kit, words) => {
	const find = (w) => kit.find({ selector: w.selector });
	const control = (w) => {
		const el = find(w);
		return el ? { found: true, enabled: !kit.disabled(el), name: kit.clip(kit.nameOf(el), 100), attrs: { 'data-lk-enabled': el.dataset.lkEnabled || '' } } : { found: false };
	};
	const yes = (el, key) => el.dataset[key] === 'true';
	const people = () => {
		const namesakes = new Map();
		return [...document.querySelectorAll(words.tile.selector)].slice(0, 64).map((el) => {
			const shown = el.querySelector(words.person.selector), name = shown ? kit.clip(shown.textContent, 256) : '';
			const self = yes(el, 'lkLocalParticipant'), n = (namesakes.get(name) || 0) + (self ? 0 : 1);
			namesakes.set(name, n);
			return { id: self ? 'self' : n + ':' + name, name, self, muted: yes(el, 'lkAudioMuted'), speaking: yes(el, 'lkSpeaking') };
		}).filter((p) => p.name);
	};
	// An entry of the chat has no id of its own; the element stays the same for as long as the document does.
	const document_ = crypto.getRandomValues(new Uint32Array(1))[0].toString(36);
	const known = new WeakMap();
	let entries = 0;
	const messages = () => {
		const fresh = [];
		let sender = '';
		for (const el of document.querySelectorAll(words.entry.selector)) {
			// Only the first of several messages in a row says whose they are.
			const shown = el.querySelector(words.sender.selector);
			if (shown) sender = kit.clip(shown.textContent, 256);
			if (known.has(el) || fresh.length >= 50) continue;
			known.set(el, ++entries);
			const body = el.querySelector(words.body.selector);
			fresh.push({ id: document_ + '-' + entries, own: el.dataset.lkMessageOrigin === 'local', sender, text: body ? kit.clip(body.textContent, 8192) : '' });
		}
		return fresh;
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

	return () => {
		const conference = !!find(words.conference);
		return {
			conference, microphone: control(words.microphone), camera: control(words.camera),
			people: conference ? people() : null, more: !!find(words.more), messages: messages(), dialogs: dialogs(),
		};
	};
}
