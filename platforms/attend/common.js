// What the scripts of all platforms need to read a page: elements of the table in all their ways, controls, dialogs, names
// without the icons that stand in them.
(kit, words, spec) => {
	const flat = (byLang) => Object.values(byLang || {}).flat();
	const ways = (w) => w ? [w, ...(w.or || []).flatMap(ways)] : [];
	const target = (w) => ({ selector: w.selector, role: w.role, names: flat(w.names), texts: flat(w.texts), icons: w.icons, exact: w.exact, within: w.within });
	const find = (w) => { for (const way of ways(w)) { const el = kit.find(target(way)); if (el) return el; } return null; };
	const all = (w) => { for (const way of ways(w)) { const els = kit.all(target(way)); if (els.length) return els; } return []; };
	// query goes through open shadow roots and frames of the same origin, hidden elements included.
	const query = (selector) => selector ? kit.roots(document).flatMap((r) => [...r.querySelectorAll(selector)]) : [];
	const line = (s, n = 256) => kit.clip((s || '').replace(/\s+/g, ' ').trim(), n);
	const attr = (el, ...names) => Object.fromEntries(names.map((n) => [n, el.getAttribute(n)]).filter(([, v]) => v !== null));

	// Icons of a font stand in the text as their names; whoever reads a name leaves them out.
	const ICON = /^[a-z]+(_[a-z0-9]+)+$/, ICONS = new Set(['mic', 'videocam', 'chat', 'people', 'info', 'devices', 'close', 'spark', 'keep', 'person', 'group', 'apps', 'mood', 'star']);
	const isIcon = (el) => { const t = (el.textContent || '').trim(); return !el.firstElementChild && (ICON.test(t) || (ICONS.has(t) && /icon|symbol/i.test(el.className && el.className.baseVal === undefined ? el.className : ''))); };
	// read is the text of an element without icons and without what is hidden.
	const read = (el) => {
		let text = '';
		const visit = (n) => {
			if (n.nodeType === 3) { text += n.data; return; }
			if (n.nodeType !== 1 && n.nodeType !== 11) return;
			if (n.nodeType === 1) {
				if (/^(SCRIPT|STYLE|TEMPLATE|NOSCRIPT|SVG|BUTTON)$/i.test(n.tagName) && n !== el) return;
				if (n.tagName === 'BR') { text += '\n'; return; }
				if (n !== el && (isIcon(n) || !kit.opens(n))) return;
			}
			(n.shadowRoot || n).childNodes.forEach(visit);
			if (n.nodeType === 1 && getComputedStyle(n).display !== 'inline') text += '\n';
		};
		visit(el);
		return text.replace(/[^\S\n]+/g, ' ').replace(/ ?\n[\s]*/g, '\n').trim();
	};
	const shows = (el, ...icons) => [el, ...el.querySelectorAll('*')].some((n) => !n.firstElementChild && icons.includes((n.textContent || '').trim()));

	const control = (w, more) => {
		const el = find(w);
		return el ? { found: true, enabled: !kit.disabled(el), name: line(kit.nameOf(el), 120), attrs: { ...attr(el, 'data-is-muted', 'aria-pressed', 'aria-checked'), ...(more ? more(el) : {}) } } : { found: false };
	};

	// An element keeps its number for as long as its document lives.
	const numbers = new WeakMap();
	let last = 0;
	const number = (el) => { if (!numbers.has(el)) numbers.set(el, ++last); return numbers.get(el); };
	const page = crypto.getRandomValues(new Uint32Array(1))[0].toString(36);

	const excluded = (el) => spec.table.exclude.some((s) => el.closest(s));
	const CHOICES = 'button, [role=button], a[href], input[type=button], input[type=submit]';
	const dialogs = () => {
		const found = kit.all({ selector: words.dialog.selector }).filter((el) => !excluded(el) && !(words.message && ways(words.message).some((w) => w.selector && el.querySelector(w.selector))));
		return found.filter((el) => !found.some((o) => o !== el && o.contains(el))).slice(0, 8).map((el) => ({
			id: 'd' + number(el),
			head: line(read(el).split('\n')[0], 80),
			text: line(read(el), 1000),
			choices: [...new Set(kit.roots(el).flatMap((r) => [...r.querySelectorAll(CHOICES)]).filter(kit.visible).slice(0, 16).map((b) => line(kit.nameOf(b) || read(b), 100)).filter(Boolean))],
			made: Object.entries(spec.dialogs).filter(([, s]) => { try { return el.matches(s) || !!el.querySelector(s); } catch { return false; } }).map(([name]) => name),
		}));
	};

	// hash names a text by its letters: two of the same text have the same.
	const hash = (s) => { let a = 5381, b = 52711; for (let i = 0; i < s.length; i++) { a = (a * 33 ^ s.charCodeAt(i)) >>> 0; b = (b * 31 + s.charCodeAt(i)) >>> 0; } return a.toString(36) + b.toString(36); };
	const here = () => location.host + location.pathname;
	return { flat, ways, find, all, query, line, attr, read, shows, control, number, hash, page, dialogs, here, excluded };
}
