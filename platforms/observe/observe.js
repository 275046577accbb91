// The observer reports what the page shows: at once when the page changes, and every second as a sign of life. A poll
// catches what changes without a mutation (styles). What it costs bounds how often it runs.
(kit) => {
	const spec = __SPEC__;
	const reader = (__READER__)(kit, spec.table);
	const read = (__READ__)(kit, spec.words, spec);
	const send = globalThis[spec.binding];
	const POLL = 300, SOON = 40, BEAT = 1000, FAST = 200, SETTLING = 1500;
	let last = '', sent = -1e9, changed = -1e9, free = 0, queued = 0, seq = 0;

	const report = () => {
		queued = 0;
		const began = performance.now();
		let body;
		try {
			body = { ...reader(), data: read() };
		} catch (e) {
			body = { failed: String(e && e.name || 'error'), hits: [], data: null };
		}
		const text = JSON.stringify(body), now = performance.now();
		if (text !== last) changed = now;
		const beat = now - changed < SETTLING ? FAST : BEAT;
		if (text !== last || now - sent >= beat) {
			last = text;
			sent = now;
			send(JSON.stringify({ seq: ++seq, ...body }));
		}
		free = now + 4 * (now - began); // a fifth of the page's time at most
	};
	const soon = () => { if (!queued) queued = setTimeout(report, Math.max(SOON, free - performance.now())); };
	kit.ready(() => {
		const seen = new WeakSet();
		const watch = () => {
			for (const root of kit.roots(document)) {
				if (seen.has(root)) continue;
				seen.add(root);
				new MutationObserver(soon).observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
			}
		};
		setInterval(() => { watch(); if (performance.now() >= free) report(); }, POLL);
		watch();
		report();
	});
}
