// The kit lives in our isolated world of every document: the page can neither see nor replace it. It finds elements
// as a person names them (role and visible name), through open shadow roots and frames of the same origin, and
// tells what input reached. It changes nothing on the page.
(marker) => {
	if (Object.hasOwn(globalThis, marker)) return;

	// fold makes texts comparable: typography, white space and case do not matter.
	const fold = (s) => (s || '').normalize('NFKC')
		.replace(/[\u2018\u2019\u02bc\u0060\u00b4]/g, "'").replace(/[\u201c\u201d\u00ab\u00bb]/g, '"')
		.replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]/g, '')
		.replace(/\s+/g, ' ').trim().toLowerCase();
	const clip = (s, n) => s.length > n ? s.slice(0, n) : s;

	// roots gives the document, its open shadow roots and same-origin frames, outermost first.
	const MAX_ROOTS = 500;
	let rootsOfPage = null, rootsAt = -1e9;
	const roots = (start) => {
		// One question asks for the page's roots many times; what is this fresh has not changed.
		if (start === document && performance.now() - rootsAt < 10) return rootsOfPage;
		const all = rootsFrom(start);
		if (start === document) { rootsOfPage = all; rootsAt = performance.now(); }
		return all;
	};
	const rootsFrom = (start) => {
		const all = [start];
		const enter = (el) => {
			if (el.shadowRoot) all.push(el.shadowRoot);
			if (el.tagName === 'IFRAME' || el.tagName === 'FRAME') {
				try { if (el.contentDocument) all.push(el.contentDocument); } catch { /* another origin */ }
			}
		};
		if (start.nodeType === 1) enter(start);
		for (let i = 0; i < all.length && all.length < MAX_ROOTS; i++) for (const el of all[i].querySelectorAll('*')) enter(el);
		return all;
	};

	// parent climbs the composed tree: out of shadow roots and out of frames.
	const frameOf = (doc) => { try { return doc.defaultView && doc.defaultView.frameElement; } catch { return null; } };
	const parent = (n) => {
		if (n.parentElement) return n.parentElement;
		const up = n.nodeType === 9 ? n : n.parentNode;
		if (!up) return null;
		return up.nodeType === 9 ? frameOf(up) : up.host || null;
	};
	const inside = (n, outer) => { for (; n; n = parent(n)) if (n === outer) return true; return false; };

	// opens says whether an element lets what is in it be seen. One without a box of its own (display: contents) does.
	const opens = (el) => el.checkVisibility({ visibilityProperty: true }) || getComputedStyle(el).display === 'contents';
	const visible = (el) => {
		if (!el.isConnected || !el.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) return false;
		const r = el.getBoundingClientRect();
		return r.width > 0 && r.height > 0;
	};
	const ariaHidden = (el) => { for (let n = el; n; n = parent(n)) if (n.getAttribute && n.getAttribute('aria-hidden') === 'true') return true; return false; };
	const disabled = (el) => {
		if (el.matches(':disabled')) return true;
		for (let n = el; n; n = parent(n)) if (n.getAttribute && n.getAttribute('aria-disabled') === 'true') return true;
		return false;
	};

	// What elements have a role without saying so. First match wins.
	const implicit = [
		['button', 'button, summary, input[type=button], input[type=submit], input[type=reset], input[type=image]'],
		['link', 'a[href], area[href]'],
		['checkbox', 'input[type=checkbox]'], ['radio', 'input[type=radio]'], ['slider', 'input[type=range]'],
		['spinbutton', 'input[type=number]'], ['searchbox', 'input[type=search]'],
		['textbox', 'textarea, [contenteditable=""], [contenteditable=true], [contenteditable=plaintext-only], input:not([type]), input[type=text], input[type=email], input[type=tel], input[type=url], input[type=password]'],
		['combobox', 'select:not([multiple])'], ['listbox', 'select[multiple], datalist'], ['option', 'option'],
		['heading', 'h1, h2, h3, h4, h5, h6'], ['img', 'img, svg'], ['list', 'ul, ol, menu'], ['listitem', 'li'],
		['dialog', 'dialog'], ['status', 'output'], ['navigation', 'nav'], ['main', 'main'], ['complementary', 'aside'], ['form', 'form'],
		['region', 'section[aria-label], section[aria-labelledby]'], ['table', 'table'], ['row', 'tr'], ['cell', 'td'],
		['progressbar', 'progress'], ['banner', 'header'], ['contentinfo', 'footer'], ['article', 'article'],
	];
	const implicitOf = new Map(implicit);
	const roleOf = (el) => {
		const said = (el.getAttribute('role') || '').trim().split(/\s+/)[0].toLowerCase();
		if (said) return said;
		for (const [role, selector] of implicit) if (el.matches(selector)) return role;
		return '';
	};
	const roleSelector = (role) => `[role~="${CSS.escape(role)}" i]` + (implicitOf.has(role) ? ', ' + implicitOf.get(role) : '');

	// content is the text in an element that is meant to be read, shadow roots included.
	const content = (el, budget = { left: 20000 }) => {
		let text = '';
		const visit = (n) => {
			if (budget.left <= 0) return;
			if (n.nodeType === 3) { text += n.data; budget.left -= n.data.length + 1; return; }
			if (n.nodeType !== 1 && n.nodeType !== 11) return;
			if (n.nodeType === 1) {
				if (/^(SCRIPT|STYLE|TEMPLATE|NOSCRIPT)$/.test(n.tagName)) return;
				if (n !== el && n.getAttribute('aria-hidden') === 'true') return;
				if (n !== el && !opens(n)) return;
				if (n.tagName === 'IMG' || (n.tagName === 'INPUT' && n.type === 'image')) { text += ' ' + (n.alt || '') + ' '; return; }
				if (n.tagName === 'BR') { text += '\n'; return; }
				if (n.tagName === 'SLOT') { const given = n.assignedNodes(); if (given.length) { given.forEach(visit); return; } }
			}
			(n.shadowRoot || n).childNodes.forEach(visit);
			if (n.nodeType === 1 && n !== el && getComputedStyle(n).display !== 'inline') text += ' ';
		};
		visit(el);
		return text;
	};

	const fromContent = new Set(['button', 'link', 'heading', 'option', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'checkbox', 'radio', 'switch', 'cell', 'row', 'listitem', 'treeitem', 'tooltip', 'status', 'alert']);
	const nameOf = (el) => {
		const ids = (el.getAttribute('aria-labelledby') || '').trim();
		if (ids) {
			const named = ids.split(/\s+/).map((id) => el.getRootNode().getElementById && el.getRootNode().getElementById(id)).filter(Boolean);
			const text = named.map((n) => n.getAttribute('aria-label') || content(n)).join(' ').trim();
			if (text) return text;
		}
		const label = (el.getAttribute('aria-label') || '').trim();
		if (label) return label;
		if (el.labels && el.labels.length) {
			const text = Array.from(el.labels, (l) => content(l)).join(' ').trim();
			if (text) return text;
		}
		if (el.tagName === 'IMG' && el.alt) return el.alt;
		if (el.tagName === 'INPUT' && /^(button|submit|reset)$/.test(el.type) && el.value) return el.value;
		if (el.tagName === 'INPUT' && el.type === 'image' && el.alt) return el.alt;
		if (fromContent.has(roleOf(el))) {
			const text = content(el).replace(/\s+/g, ' ').trim();
			if (text) return text;
		}
		return (el.getAttribute('title') || el.getAttribute('placeholder') || el.getAttribute('aria-placeholder') || '').trim();
	};

	const matchesAny = (text, wanted, exact) => {
		const t = fold(text);
		return wanted.some((w) => { const f = fold(w); return f !== '' && (exact ? t === f : t.includes(f)); });
	};

	// icons of fonts are written as their names, mostly hidden from readers; an element shows one as the whole text of a part.
	const shows = (el, icons) => [el, ...el.querySelectorAll('*')].some((n) => !n.firstElementChild && icons.includes((n.textContent || '').trim()));

	// all gives the elements that a target means, visible ones only, in page order within each root.
	const all = (target, limit = Infinity) => {
		let starts = [document];
		if (target.within) {
			const which = target.within_texts || [];
			const outer = roots(document).flatMap((r) => [...r.querySelectorAll(target.within)]).find((el) => visible(el) && (!which.length || matchesAny(content(el), which)));
			if (!outer) return [];
			starts = [outer];
		}
		const names = target.names || [], texts = target.texts || [], icons = target.icons || [];
		const found = [];
		if (texts.length && !target.role && !target.selector) {
			for (const start of starts) innermost(start.nodeType === 9 ? start.documentElement : start, texts, target.exact, found, limit);
			return found;
		}
		const selector = target.selector || (target.role ? roleSelector(target.role.toLowerCase()) : '*');
		for (const root of starts.flatMap(roots)) {
			for (const el of root.querySelectorAll(selector)) {
				if (target.role && (roleOf(el) !== target.role.toLowerCase() || ariaHidden(el))) continue;
				if (!visible(el)) continue;
				if (names.length && !matchesAny(nameOf(el), names, target.exact)) continue;
				if (texts.length && !matchesAny(content(el), texts, target.exact)) continue;
				if (icons.length && !shows(el, icons)) continue;
				found.push(el);
				if (found.length >= limit) return found;
			}
		}
		return found;
	};
	// innermost gathers the smallest visible elements that show a text: a text alone means the element that is its own.
	const innermost = (el, texts, exact, found, limit) => {
		if (!el || found.length >= limit) return;
		const shows = matchesAny(content(el), texts, exact);
		if (!shows && !exact && !el.querySelector('iframe')) return; // what the whole does not show, no part does
		const before = found.length;
		for (const c of (el.shadowRoot || el).children) if (!/^(SCRIPT|STYLE|TEMPLATE|NOSCRIPT|HEAD)$/.test(c.tagName)) innermost(c, texts, exact, found, limit);
		if (el.tagName === 'IFRAME') { try { if (el.contentDocument) innermost(el.contentDocument.documentElement, texts, exact, found, limit); } catch { /* another origin */ } }
		if (shows && found.length === before && visible(el)) found.push(el);
	};
	const find = (target) => all(target, 1)[0] || null;

	const value = (el) => 'value' in el && el.tagName !== 'LI' && el.tagName !== 'BUTTON' ? String(el.value) : el.isContentEditable ? el.innerText : '';
	const describe = (el) => {
		if (!el) return { ok: false, tag: '', name: '', text: '', value: '', attrs: {}, enabled: false };
		const attrs = {};
		for (const a of el.attributes) if (Object.keys(attrs).length < 64) attrs[clip(a.name, 64)] = clip(a.value, 512);
		return {
			ok: true, tag: el.tagName.toLowerCase(), name: clip(nameOf(el), 512), text: clip(content(el).trim(), 4096),
			value: el.tagName === 'INPUT' && el.type === 'password' ? '' : clip(value(el), 8192), attrs, enabled: !disabled(el),
		};
	};
	// brief names an element by what its authors wrote, not by what it shows.
	const brief = (el) => el ? `<${el.tagName.toLowerCase()}${el.id ? ' id="' + clip(el.id, 40) + '"' : ''}${el.className && typeof el.className === 'string' ? ' class="' + clip(el.className, 60) + '"' : ''}>` : 'nothing';

	// wait looks for an element again by the page's own changes; the timer catches what styles do without one.
	const wait = (target, ms) => new Promise((done) => {
		let el = find(target);
		if (el || ms <= 0) { done(el); return; }
		let queued = false;
		const finish = (v) => { observer.disconnect(); clearInterval(poll); clearTimeout(end); done(v); };
		const look = () => { queued = false; el = find(target); if (el) finish(el); };
		const observer = new MutationObserver(() => { if (!queued) { queued = true; setTimeout(look, 20); } });
		observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
		const poll = setInterval(look, 250), end = setTimeout(() => finish(null), ms);
	});
	const frame = () => new Promise((done) => { const t = setTimeout(done, 60); requestAnimationFrame(() => { clearTimeout(t); done(); }); });

	// shown waits until the document has been drawn: before that the browser drops input without a word.
	let drawn = null;
	const shown = () => drawn = drawn || (async () => {
		const until = Date.now() + 1000; // a page that draws nothing at all takes input all the same
		while (!performance.getEntriesByType('paint').length && Date.now() < until) await frame();
		await frame();
		await frame();
	})();

	// hitAt is the innermost element at a point of the top window, through shadow roots and frames.
	const hitAt = (x, y) => {
		let root = document, hit = null;
		for (let depth = 0; depth < 50; depth++) {
			const at = root.elementFromPoint(x, y);
			if (!at || at === hit) return hit;
			hit = at;
			if (at.shadowRoot) { root = at.shadowRoot; continue; }
			if (at.tagName === 'IFRAME') {
				let doc = null;
				try { doc = at.contentDocument; } catch { /* another origin */ }
				if (!doc) return hit;
				const r = at.getBoundingClientRect();
				x -= r.left + at.clientLeft; y -= r.top + at.clientTop; root = doc; continue;
			}
			return hit;
		}
		return hit;
	};
	// offset is where an element's own window begins in the top one.
	const offset = (el) => {
		let x = 0, y = 0;
		for (let f = frameOf(el.ownerDocument); f; f = frameOf(f.ownerDocument)) { const r = f.getBoundingClientRect(); x += r.left + f.clientLeft; y += r.top + f.clientTop; }
		return { x, y };
	};
	const reaches = (hit, el) => hit && (inside(hit, el) || (el.labels && [...el.labels].some((l) => inside(hit, l))) || (hit.tagName === 'LABEL' && hit.control === el));

	// aim brings the element into view, waits until it stands still, and gives a point where it would get the click.
	const held = new Map();
	let last = 0;
	const aim = async (target, ms) => {
		const until = Date.now() + ms;
		await shown();
		let why = { problem: 'missing' };
		for (;;) {
			const el = await wait(target, Math.max(0, until - Date.now()));
			if (!el) return why;
			why = await take(el);
			if (!why.problem || Date.now() >= until) return why;
			await new Promise((r) => setTimeout(r, 100));
		}
	};
	const take = async (el) => {
		if (disabled(el)) return { problem: 'disabled', by: brief(el) };
		const box = () => { const r = el.getBoundingClientRect(), o = offset(el); return { l: r.left + o.x, t: r.top + o.y, r: r.right + o.x, b: r.bottom + o.y }; };
		let b = box();
		if (b.l < 0 || b.t < 0 || b.r > innerWidth || b.b > innerHeight) el.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
		for (let i = 0; ; i++) {
			await frame();
			const now = box();
			const still = Math.abs(now.l - b.l) < 1 && Math.abs(now.t - b.t) < 1 && Math.abs(now.r - b.r) < 1 && Math.abs(now.b - b.b) < 1;
			b = now;
			if (still) break;
			if (i > 30) return { problem: 'moving', by: brief(el) };
		}
		if (!visible(el)) return { problem: 'missing' };
		const l = Math.max(b.l, 0), t = Math.max(b.t, 0), r = Math.min(b.r, innerWidth), btm = Math.min(b.b, innerHeight);
		if (r - l < 1 || btm - t < 1) return { problem: 'outside', by: brief(el) };
		let cover = null;
		for (const [fx, fy] of [[.5, .5], [.25, .5], [.75, .5], [.5, .25], [.5, .75], [.1, .1], [.9, .9]]) {
			const x = l + (r - l) * fx, y = t + (btm - t) * fy, hit = hitAt(x, y);
			if (reaches(hit, el)) {
				const id = ++last;
				held.set(id, arm(el));
				for (const old of held.keys()) if (held.size > 32) { held.get(old).disarm(); held.delete(old); }
				return { id, x, y };
			}
			cover = cover || hit;
		}
		return { problem: 'covered', by: brief(cover) };
	};
	// arm watches what the next press of the mouse reaches.
	const arm = (el) => {
		const h = { el, down: false, click: false, other: false, trusted: true };
		const views = new Set([window]);
		try { if (el.ownerDocument.defaultView) views.add(el.ownerDocument.defaultView); } catch { /* gone */ }
		const on = (e) => {
			if (!e.isTrusted) return;
			if (reaches(e.composedPath()[0], el)) { if (e.type === 'click') h.click = true; else h.down = true; } else if (e.composedPath()[0] !== document) h.other = true;
			if (h.wake) h.wake();
		};
		for (const v of views) for (const type of ['pointerdown', 'mousedown', 'click']) v.addEventListener(type, on, true);
		h.disarm = () => { for (const v of views) for (const type of ['pointerdown', 'mousedown', 'click']) v.removeEventListener(type, on, true); };
		return h;
	};
	// landed says what the press reached: waits a moment, since an answer of the browser may overtake the event.
	const landed = async (id) => {
		const h = held.get(id);
		if (!h) return { known: false };
		if (!h.down && !h.click) await new Promise((r) => { h.wake = r; setTimeout(r, 300); });
		h.disarm();
		return { known: true, down: h.down || h.click, other: h.other, connected: h.el.isConnected };
	};
	const active = () => { let a = document.activeElement; for (;;) { if (a && a.shadowRoot && a.shadowRoot.activeElement) a = a.shadowRoot.activeElement; else if (a && a.tagName === 'IFRAME') { try { if (!a.contentDocument) return a; a = a.contentDocument.activeElement; } catch { return a; } } else return a; } };
	// focus makes sure that keys go into the element, and says what is in it.
	const focus = (id) => {
		const h = held.get(id);
		if (!h || !h.el.isConnected) return { ok: false, value: '' };
		if (!inside(active(), h.el)) h.el.focus();
		return { ok: inside(active(), h.el), value: value(h.el), multiline: h.el.tagName === 'TEXTAREA' || h.el.isContentEditable };
	};
	// typed reads a field back, also when the page has replaced the element meanwhile.
	const typed = (id, target) => {
		const h = held.get(id);
		const el = h && h.el.isConnected ? h.el : find(target);
		return { ok: !!el, value: el ? value(el) : '' };
	};
	// ready calls f when there is a document to look at.
	const ready = (f) => { if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', f, { once: true }); else f(); };

	const kit = Object.freeze({ fold, clip, roots, inside, opens, visible, ariaHidden, disabled, roleOf, nameOf, content, all, find, value, describe, wait, aim, landed, focus, typed, active, shown, ready });
	Object.defineProperty(globalThis, marker, { value: kit });
}
