// The reader looks for the signs of a table and says which are there. Text is looked for outside the parts of the page
// where people write, line by line: what stands in one line on the screen is one text.
(kit, table) => {
	const BLOCK = /^(block|flex|grid|list-item|table|table-row|table-cell|flow-root)$/;
	const MAX_TEXT = 60000;
	const excluded = (el) => { for (let n = el; n; n = n.parentElement || (n.getRootNode() && n.getRootNode().host)) if (table.exclude.some((s) => n.matches(s))) return true; return false; };

	// lines are the texts of the whole page, folded; kept for a moment, since they cost the most.
	const PIECES = 14; // shorter words are found in one line only
	let kept = [], joined = '', keptAt = -1e9;
	const lines = () => {
		if (performance.now() - keptAt < 200) return kept;
		kept = [];
		let line = '', left = MAX_TEXT;
		const end = () => { const t = line.replace(/\s+/g, ' ').trim(); if (t) kept.push(t); line = ''; };
		const visit = (n) => {
			if (left <= 0) return;
			if (n.nodeType === 3) { line += n.data; left -= n.data.length; return; }
			if (n.nodeType !== 1 && n.nodeType !== 9 && n.nodeType !== 11) return;
			let block = false;
			if (n.nodeType === 1) {
				if (/^(SCRIPT|STYLE|TEMPLATE|NOSCRIPT|HEAD|TEXTAREA)$/.test(n.tagName)) return;
				if (!kit.opens(n) || table.exclude.some((s) => n.matches(s))) return;
				if (n.tagName === 'BR') { end(); return; }
				block = BLOCK.test(getComputedStyle(n).display);
				if (block) end();
				if (n.tagName === 'IFRAME') { try { if (n.contentDocument) visit(n.contentDocument); } catch { /* another origin */ } end(); return; }
			}
			(n.shadowRoot || n).childNodes.forEach(visit);
			if (block) end();
		};
		if (document.body) visit(document.body);
		end();
		kept = kept.map((t) => [kit.fold(t), t]);
		joined = kept.map(([f]) => f).join(' ');
		keptAt = performance.now();
		return kept;
	};

	const has = (folded, word, exact) => exact ? folded === word : folded.includes(word);
	const signs = table.signs.map((s) => ({ ...s, names: (s.names || []).map((w) => ({ lang: w.lang, word: kit.fold(w.word) })), texts: (s.texts || []).map((w) => ({ lang: w.lang, word: kit.fold(w.word) })) }));

	const sounds = () => kit.roots(document).some((root) => [...root.querySelectorAll('audio, video')].some((el) => {
		if (el.paused || el.muted || !el.srcObject || !el.srcObject.getAudioTracks) return false;
		return el.srcObject.getAudioTracks().some((t) => t.readyState === 'live');
	}));
	const within = (el, selector) => { for (let n = el; n; n = n.parentElement || (n.getRootNode() && n.getRootNode().host)) if (n.matches(selector)) return true; return false; };

	const look = (s) => {
		if (s.address) {
			const here = (location.host + location.pathname).toLowerCase();
			return s.address.some((a) => here.includes(a)) ? { sign: s.name } : null;
		}
		if (s.sounding) return sounds() ? { sign: s.name } : null;
		if (s.title) {
			const folded = kit.fold(document.title), w = s.texts.find((w) => has(folded, w.word, s.exact));
			return w ? { sign: s.name, text: kit.clip(document.title, 300), lang: w.lang } : null;
		}
		if (!s.selector && !s.role) {
			for (const [folded, text] of lines()) for (const w of s.texts) if (has(folded, w.word, s.exact)) return { sign: s.name, text: kit.clip(text, 300), lang: w.lang };
			if (s.exact) return null;
			// A sentence may be drawn in pieces, each in a line of its own: it is whole where they follow one another.
			const w = s.texts.find((w) => w.word.length >= PIECES && joined.includes(w.word));
			return w ? { sign: s.name, text: w.word, lang: w.lang } : null;
		}
		for (const el of kit.all({ role: s.role, selector: s.selector, icons: s.icons })) {
			if (s.outside && within(el, s.outside)) continue;
			if (s.min_width || s.min_height) {
				const r = el.getBoundingClientRect();
				const width = Math.min(r.right, innerWidth) - Math.max(r.left, 0), height = Math.min(r.bottom, innerHeight) - Math.max(r.top, 0);
				if (width < s.min_width || height < s.min_height) continue;
			}
			let lang = '';
			if (s.names.length) {
				const folded = kit.fold(kit.nameOf(el)), w = s.names.find((w) => has(folded, w.word, s.exact));
				if (!w) continue;
				lang = w.lang;
			}
			if (!s.texts.length) return { sign: s.name, lang };
			if (excluded(el)) continue;
			const text = kit.content(el).replace(/\s+/g, ' ').trim(), folded = kit.fold(text), w = s.texts.find((w) => has(folded, w.word, s.exact));
			if (w) return { sign: s.name, text: kit.clip(text, 300), lang: w.lang };
		}
		return null;
	};

	return () => {
		const hits = signs.map(look).filter(Boolean);
		const blank = !hits.length && (!document.body || (!document.body.querySelector('button, input, video, canvas, iframe, img, svg, a') && !document.body.innerText.trim()));
		return { hits, blank };
	};
}
