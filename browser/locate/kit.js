// The kit finds elements as a person or a selector names them. It lives in our isolated world of every document: the
// page can neither see nor replace it, and it takes nothing from the page's scripts. It changes nothing by itself.
(() => {

	const MAX_ELEMENTS = 200000, MAX_FOUND = 20000;

	// ---- texts ----
	// fold makes texts comparable: typography, white space and case do not matter.
	const ODD = /[^\x20-\x7e]/;
	const fold = (s) => {
		s = s || '';
		if (ODD.test(s)) {
			s = s.normalize('NFKC').replace(/[\u2018\u2019\u02bc\u0060\u00b4]/g, "'").replace(/[\u201c\u201d]/g, '"')
				.replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]/g, '');
		}
		return s.replace(/\s+/g, ' ').trim().toLowerCase();
	};
	const squash = (s) => (s || '').replace(/\s+/g, ' ').trim();
	const clip = (s, n) => s.length > n ? s.slice(0, n - 1) + '…' : s;
	const matcher = (t) => {
		if (!t) return () => true;
		if (t.match) { const re = new RegExp(t.match, t.flags || ''); return (s) => re.test(squash(s)); }
		if (t.is) { const w = t.fold ? fold(t.is) : squash(t.is); return (s) => (t.fold ? fold(s) : squash(s)) === w; }
		const w = fold(t.has);
		return (s) => w !== '' && fold(s).includes(w);
	};

	// ---- the tree as a person sees it: through open shadow roots, slots in their places ----
	const kids = (n) => {
		if (n.shadowRoot) return n.shadowRoot.childNodes;
		if (n.tagName === 'SLOT') { const given = n.assignedNodes(); if (given.length) return given; }
		return n.childNodes;
	};
	const rootsOf = (doc) => {
		const all = [doc];
		for (let i = 0; i < all.length && all.length < 2000; i++) {
			const walker = document.createTreeWalker(all[i], 1);
			for (let n = 0; walker.nextNode() && n < MAX_ELEMENTS; n++) { const r = walker.currentNode.shadowRoot; if (r) all.push(r); }
		}
		return all;
	};
	// parent climbs the composed tree.
	const parent = (n) => n.assignedSlot || n.parentElement || (n.parentNode && n.parentNode.host) || null;
	const up = (n) => n.parentElement || (n.parentNode && n.parentNode.host) || null; // as written, not as slotted
	const inside = (n, outer) => { for (; n; n = up(n)) if (n === outer) return true; return false; };
	// ordered sorts elements of several roots into page order.
	const ordered = (list, roots) => {
		if (roots.length === 1 || list.length < 2) return list;
		const place = new Map();
		let n = 0;
		const visit = (el) => {
			if (place.has(el) || n > MAX_ELEMENTS) return;
			place.set(el, n++);
			for (const c of kids(el)) if (c.nodeType === 1) visit(c);
			if (el.shadowRoot) for (const c of el.children) visit(c); // what no slot shows
		};
		if (document.documentElement) visit(document.documentElement);
		return list.slice().sort((a, b) => (place.get(a) ?? 1e9) - (place.get(b) ?? 1e9));
	};

	// ---- visible or not, and why not ----
	const box = (el) => {
		const r = el.getBoundingClientRect();
		if (r.width > 0 && r.height > 0) return r;
		const s = getComputedStyle(el);
		if (s.display === 'contents' || (r.width > 0 || r.height > 0) || el.tagName === 'A' || el.tagName === 'AREA') {
			// What has no box of its own may have one through what is in it.
			if (el.tagName === 'AREA') return areaBox(el);
			for (const c of kids(el)) {
				if (c.nodeType === 3 && c.data.trim()) { const range = document.createRange(); range.selectNode(c); const t = range.getBoundingClientRect(); if (t.width > 0 && t.height > 0) return t; }
				if (c.nodeType === 1 && c.checkVisibility({ visibilityProperty: true })) { const b = box(c); if (b) return b; }
			}
		}
		return null;
	};
	const areaBox = (area) => {
		const map = area.closest('map');
		const img = map && map.name && document.querySelector(`img[usemap="#${CSS.escape(map.name)}"]`);
		if (!img) return null;
		const r = img.getBoundingClientRect(), c = (area.coords || '').split(',').map(Number);
		if (area.shape === 'circle' && c.length >= 3) return new DOMRect(r.left + c[0] - c[2], r.top + c[1] - c[2], 2 * c[2], 2 * c[2]);
		if (c.length < 4) return r;
		const xs = c.filter((_, i) => i % 2 === 0), ys = c.filter((_, i) => i % 2 === 1);
		return new DOMRect(r.left + Math.min(...xs), r.top + Math.min(...ys), Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys));
	};
	const visible = (el) => el.isConnected && el.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) && box(el) !== null;
	// brief names an element by what its authors wrote, never by what it shows.
	const brief = (el) => {
		if (!el || el.nodeType !== 1) return '<nothing>';
		const word = (s) => clip(s.replace(/[\s"<>\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069]+/g, ' ').trim(), 60);
		const id = el.getAttribute('id'), cls = el.getAttribute('class');
		return '<' + clip(el.localName, 40) + (id ? ` id="${word(id)}"` : '') + (cls ? ` class="${word(cls)}"` : '') + '>';
	};
	const whyHidden = (el) => {
		if (!el.isConnected) return 'no longer in the page';
		for (let n = el; n; n = parent(n)) {
			const s = getComputedStyle(n);
			if (s.display === 'none') return n === el ? 'with display: none' : `inside a display: none ${brief(n)}`;
			if (s.contentVisibility === 'hidden' && n !== el) return `inside a content-visibility: hidden ${brief(n)}`;
			if (n.tagName === 'DETAILS' && !n.open && n !== el && !inside(el, n.querySelector('summary'))) return `inside a closed ${brief(n)}`;
		}
		const s = getComputedStyle(el);
		if (s.visibility !== 'visible') {
			let n = el;
			while (parent(n) && getComputedStyle(parent(n)).visibility === s.visibility) n = parent(n);
			return n === el ? `with visibility: ${s.visibility}` : `inside a visibility: ${s.visibility} ${brief(n)}`;
		}
		if (up(el) && up(el).shadowRoot && !el.assignedSlot && el.parentElement) return `given to ${brief(up(el))}, which does not show it`;
		const r = el.getBoundingClientRect();
		if (r.width === 0 || r.height === 0) return `${Math.round(r.width)} by ${Math.round(r.height)} pixels in size`;
		return 'not drawn';
	};
	const ariaHidden = (el) => { for (let n = el; n; n = parent(n)) if (n.getAttribute('aria-hidden') === 'true') return true; return false; };
	const disabled = (el) => {
		if (el.matches(':disabled')) return true;
		for (let n = el; n; n = up(n)) if (n.getAttribute('aria-disabled') === 'true') return n === el || !n.matches('body, html');
		return false;
	};

	// ---- roles and names ----
	// What elements have a role without saying so. The first match wins.
	const implicit = [
		['button', 'button, summary, input[type=button i], input[type=submit i], input[type=reset i], input[type=image i], input[type=file i], input[type=color i]'],
		['link', 'a[href], area[href]'],
		['checkbox', 'input[type=checkbox i]'], ['radio', 'input[type=radio i]'], ['slider', 'input[type=range i]'],
		['spinbutton', 'input[type=number i]'],
		['combobox', 'input[list]:is(:not([type]), [type=text i], [type=search i], [type=email i], [type=tel i], [type=url i]), select:not([multiple]):not([size]), select[size="0"], select[size="1"]'],
		['searchbox', 'input[type=search i]'],
		['textbox', 'textarea, [contenteditable=""], [contenteditable=true i], [contenteditable=plaintext-only i], input:not([type=checkbox i], [type=radio i], [type=range i], [type=number i], [type=hidden i], [type=button i], [type=submit i], [type=reset i], [type=image i], [type=file i], [type=color i], [type=date i], [type=time i], [type=month i], [type=week i], [type=datetime-local i])'],
		['listbox', 'select'], ['option', 'option'], ['group', 'fieldset, details, optgroup'],
		['heading', 'h1, h2, h3, h4, h5, h6'], ['img', 'img:not([alt=""]), svg'], ['list', 'ul, ol, menu'], ['listitem', 'li'],
		['dialog', 'dialog'], ['status', 'output'], ['navigation', 'nav'], ['main', 'main'], ['complementary', 'aside'], ['form', 'form'],
		['region', 'section[aria-label], section[aria-labelledby]'], ['search', 'search'], ['separator', 'hr'],
		['columnheader', 'thead th, th[scope=col i]'], ['rowheader', 'th[scope=row i], tbody th'], ['table', 'table'], ['rowgroup', 'tbody, thead, tfoot'], ['row', 'tr'], ['cell', 'td, th'],
		['progressbar', 'progress'], ['meter', 'meter'], ['article', 'article'], ['figure', 'figure'], ['paragraph', 'p'],
		['banner', 'header'], ['contentinfo', 'footer'], ['term', 'dt'], ['definition', 'dd'], ['code', 'code'], ['strong', 'strong'], ['emphasis', 'em'],
		['date', 'input[type=date i]'], ['time', 'input[type=time i]'], ['datetime', 'input[type=datetime-local i]'], ['month', 'input[type=month i]'], ['week', 'input[type=week i]'],
		['iframe', 'iframe'], ['canvas', 'canvas'],
	];
	const implicitOf = new Map(implicit);
	// Words for one thing that callers and trees use for each other.
	const alike = { img: ['image', 'graphics-symbol'], image: ['img', 'graphics-symbol'], textbox: ['searchbox'], cell: ['gridcell'], gridcell: ['cell'], switch: [], combobox: [], none: ['presentation'], generic: [] };
	const roleOf = (el) => {
		const said = (el.getAttribute('role') || '').trim().toLowerCase();
		if (said) { const first = said.split(/\s+/).find((r) => r !== ''); if (first && !((first === 'presentation' || first === 'none') && el.tabIndex >= 0)) return first; }
		for (const [role, selector] of implicit) if (el.matches(selector)) return role;
		return 'generic';
	};
	const roleSelector = (role) => [role, ...(alike[role] || [])].map((r) => `[role~="${CSS.escape(r)}" i]` + (implicitOf.has(r) ? ', ' + implicitOf.get(r) : '')).join(', ');
	// A field is whatever takes a value. It is a word of ours among the roles, for forms.
	const FIELD = 'input:not([type=hidden i], [type=submit i], [type=button i], [type=reset i], [type=image i]), textarea, select, [contenteditable=""], [contenteditable=true i], [contenteditable=plaintext-only i], [role=textbox], [role=searchbox], [role=combobox], [role=listbox], [role=checkbox], [role=switch], [role=radio], [role=slider], [role=spinbutton]';
	implicitOf.set('field', FIELD);
	const hasRole = (el, role) => {
		if (role === 'field') return el.matches(FIELD); const r = roleOf(el); return r === role || (alike[role] || []).includes(r); };

	// shown is the text in an element that a person can read, shadow roots included.
	const SKIP = /^(SCRIPT|STYLE|TEMPLATE|NOSCRIPT|HEAD|TITLE)$/;
	const shown = (el, forName, budget = { left: 20000 }) => {
		let text = '';
		const visit = (n) => {
			if (budget.left <= 0) return;
			if (n.nodeType === 3) { text += n.data; budget.left -= n.data.length + 1; return; }
			if (n.nodeType !== 1 && n.nodeType !== 11) return;
			if (n.nodeType === 1) {
				if (SKIP.test(n.tagName)) return;
				if (n !== el && forName && n.getAttribute('aria-hidden') === 'true') return;
				if (n !== el && !n.checkVisibility({ visibilityProperty: true }) && getComputedStyle(n).display !== 'contents' && n.tagName !== 'OPTION') return;
				if (forName && n !== el) { const l = n.getAttribute('aria-label'); if (l && l.trim()) { text += ' ' + l + ' '; return; } }
				if (n.tagName === 'IMG' || (n.tagName === 'INPUT' && n.type === 'image')) { if (forName) text += ' ' + (n.alt || n.title || '') + ' '; return; }
				if (forName && n.localName === 'svg') { const t = n.querySelector('title'); if (t) text += ' ' + t.textContent + ' '; }
				if (n.tagName === 'BR') { text += '\n'; return; }
				if (n.tagName === 'INPUT' && /^(button|submit|reset)$/.test(n.type)) { text += ' ' + n.value + ' '; return; }
				if (n.tagName === 'SELECT' && n !== el) { if (forName) return; const o = n.selectedOptions[0]; if (o) text += ' ' + o.label + ' '; return; }
				if (n.tagName === 'TEXTAREA') return; // what a field holds is its value, not the page's text
			}
			const block = n.nodeType === 1 && n !== el && !/^(contents|inline)/.test(getComputedStyle(n).display);
			if (block) text += ' ';
			kids(n).forEach(visit);
			if (block) text += ' ';
		};
		visit(el);
		return text;
	};
	const byIds = (el, attribute) => {
		const ids = (el.getAttribute(attribute) || '').trim();
		if (!ids) return '';
		const root = el.getRootNode();
		return ids.split(/\s+/).map((id) => root.getElementById && root.getElementById(id)).filter(Boolean).map((n) => n.getAttribute('aria-label') || shown(n, true)).join(' ').trim();
	};
	const fromContent = new Set(['button', 'link', 'heading', 'option', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'checkbox', 'radio', 'switch', 'cell', 'gridcell', 'columnheader', 'rowheader', 'row', 'treeitem', 'tooltip', 'listitem']);
	const nameOf = (el) => {
		const labelled = byIds(el, 'aria-labelledby');
		if (labelled) return labelled;
		const label = (el.getAttribute('aria-label') || '').trim();
		if (label) return label;
		if (el.labels && el.labels.length) {
			const text = squash(Array.from(el.labels, (l) => labelText(l, el)).join(' '));
			if (text) return text;
		}
		if ((el.tagName === 'IMG' || el.tagName === 'AREA') && el.alt) return el.alt;
		if (el.tagName === 'INPUT') {
			if (/^(button|submit|reset)$/.test(el.type)) { const v = el.value || (el.type === 'submit' ? 'Submit' : el.type === 'reset' ? 'Reset' : ''); if (v) return v; }
			if (el.type === 'image') return el.alt || el.title || 'Submit';
		}
		if (el.tagName === 'OPTION') return el.label;
		if (el.tagName === 'FIELDSET') { const l = el.querySelector(':scope > legend'); if (l) return squash(shown(l, true)); }
		if (el.tagName === 'TABLE') { const c = el.querySelector(':scope > caption'); if (c) return squash(shown(c, true)); }
		if (el.tagName === 'FIGURE') { const c = el.querySelector(':scope > figcaption'); if (c) return squash(shown(c, true)); }
		if (el.localName === 'svg') { const t = el.querySelector(':scope > title'); if (t) return squash(t.textContent); }
		if (fromContent.has(roleOf(el))) { const text = squash(shown(el, true)); if (text) return text; }
		return (el.getAttribute('title') || el.getAttribute('placeholder') || el.getAttribute('aria-placeholder') || el.getAttribute('data-placeholder') || '').trim();
	};
	// labelText is a label without what the field in it holds.
	const labelText = (l, field) => l.contains(field) ? squash([...kids(l)].filter((n) => n !== field).map((n) => n.nodeType === 1 ? shown(n, true) : n.nodeType === 3 ? n.data : '').join(' ')) : shown(l, true);

	const state = {
		checked: (el) => { const a = el.getAttribute('aria-checked'); return a || (el.indeterminate ? 'mixed' : String(!!el.checked)); },
		disabled: (el) => String(disabled(el)),
		expanded: (el) => el.getAttribute('aria-expanded') || (el.tagName === 'DETAILS' ? String(el.open) : el.tagName === 'SUMMARY' && el.parentElement ? String(el.parentElement.open) : 'false'),
		level: (el) => el.getAttribute('aria-level') || (/^H[1-6]$/.test(el.tagName) ? el.tagName[1] : ''),
		pressed: (el) => el.getAttribute('aria-pressed') || 'false',
		selected: (el) => el.getAttribute('aria-selected') || String(!!el.selected),
	};

	// ---- engines ----
	class BadSelector extends Error {}
	const native = (root, css) => { try { return root.querySelectorAll(css); } catch { throw new BadSelector(css); } };
	const isMatch = (el, css) => { try { return el.matches(css); } catch { throw new BadSelector(css); } };
	const compiled = new WeakMap();
	const textFilter = (f) => { let m = compiled.get(f); if (!m) compiled.set(f, m = matcher(f.text)); return m; };
	// smallest says whether no part of the element shows what it shows.
	const smallest = (el, m) => m(shown(el)) && ![...kids(el)].some((c) => c.nodeType === 1 && !SKIP.test(c.tagName) && m(shown(c)));
	const passes = (el, f) => {
		switch (f.kind) {
		case 'has-text': return !SKIP.test(el.tagName) && textFilter(f)(shown(el));
		case 'text': return !SKIP.test(el.tagName) && smallest(el, textFilter(f));
		case 'visible': return visible(el);
		case 'not': return !f.list.some((c) => matches(el, c));
		case 'is': return f.list.some((c) => matches(el, c));
		case 'nth-match': return css(document, f.list)[f.nth - 1] === el;
		case 'has': return f.list.some((c, i) => {
			const lead = f.lead[i];
			const pool = lead === ' ' || lead === '>' ? rootsOf(el.shadowRoot || el).flatMap((r) => [...native(r, c.compounds.at(-1).css)]) : [...(el.parentElement ? el.parentElement.querySelectorAll(':scope ' + (c.compounds.at(-1).css)) : [])];
			return pool.some((x) => matches(x, c, (first) => lead === ' ' ? first !== el && inside(first, el) : lead === '>' ? up(first) === el : lead === '+' ? first.previousElementSibling === el : before(el, first)));
		});
		}
		return false;
	};
	const before = (a, b) => { for (let n = b.previousElementSibling; n; n = n.previousElementSibling) if (n === a) return true; return false; };
	const fits = (el, c) => isMatch(el, c.css) && (c.filters || []).every((f) => passes(el, f));
	// matches reads a selector from its end; scope may say what its first compound must be to something else.
	const matches = (el, c, scope) => {
		const at = (el, i) => {
			if (!fits(el, c.compounds[i])) return false;
			if (i === 0) return !scope || scope(el);
			switch (c.combinators[i - 1]) {
			case '>': { const p = up(el); return !!p && at(p, i - 1); }
			case '+': { const p = el.previousElementSibling; return !!p && at(p, i - 1); }
			case '~': for (let p = el.previousElementSibling; p; p = p.previousElementSibling) if (at(p, i - 1)) return true; return false;
			default: for (let p = up(el); p; p = up(p)) if (at(p, i - 1)) return true; return false;
			}
		};
		return at(el, c.compounds.length - 1);
	};
	const simple = (list) => list.every((c) => c.compounds.every((k) => !(k.filters || []).length));
	const plain = (c) => c.compounds.map((k, i) => (i ? ' ' + c.combinators[i - 1] + ' ' : '') + k.css).join('');
	const css = (start, list) => {
		const roots = rootsOf(start);
		if (roots.length === 1 && simple(list)) return [...native(start, list.map(plain).join(', '))];
		const found = new Set();
		for (const c of list) for (const r of roots) for (const el of native(r, c.compounds.at(-1).css)) if (!found.has(el) && matches(el, c)) found.add(el);
		return ordered([...found], list.length > 1 && roots.length === 1 ? [0, 0] : roots);
	};
	const xpath = (start, expression) => {
		let got;
		try { got = document.evaluate(expression, start, null, XPathResult.ANY_TYPE, null); } catch { throw new BadSelector(expression); }
		if (got.resultType !== XPathResult.UNORDERED_NODE_ITERATOR_TYPE) throw new BadSelector(expression);
		const found = [];
		for (let n = got.iterateNext(); n && found.length < MAX_FOUND; n = got.iterateNext()) { const el = n.nodeType === 1 ? n : n.nodeType === 2 ? n.ownerElement : n.parentElement; if (el && !found.includes(el)) found.push(el); }
		return found;
	};
	// byText gathers the smallest elements that show a text: a text alone means the element that is its own.
	const byText = (start, t) => {
		const m = matcher(t), found = [];
		// A word that no node below holds no element shows. This saves reading the page piece by piece.
		const words = t.has && !ODD.test(t.has) ? fold(t.has).split(' ') : null;
		const holds = (el) => {
			if (words === null || el.shadowRoot || el.tagName === 'SLOT') return true;
			const text = fold(el.textContent);
			if (words.every((w) => text.includes(w))) return true;
			return !!el.querySelector && [...el.querySelectorAll('*')].some((n) => n.shadowRoot || n.tagName === 'INPUT');
		};
		const texts = (el) => {
			if (el.tagName === 'INPUT') return /^(button|submit|reset)$/.test(el.type) ? el.value : !el.value && el.placeholder ? el.placeholder : '';
			if (el.tagName === 'TEXTAREA') return !el.value ? el.placeholder : '';
			if (el.tagName === 'OPTION') return el.label;
			if (el.tagName === 'SELECT') return '';
			return visible(el) ? shown(el) : squash(el.textContent);
		};
		const visit = (el) => {
			if (found.length >= MAX_FOUND || SKIP.test(el.tagName)) return false;
			if (!holds(el) && el.tagName !== 'INPUT' && el.tagName !== 'TEXTAREA') return false;
			let below = false;
			for (const c of kids(el)) if (c.nodeType === 1 && visit(c)) below = true;
			if (el.shadowRoot) for (const c of el.children) if (!c.assignedSlot && visit(c)) below = true;
			if (below || !m(texts(el))) return below;
			found.push(el);
			return true;
		};
		for (const el of start.nodeType === 9 ? [start.documentElement] : start.nodeType === 11 ? start.children : [start]) if (el) visit(el);
		return start.nodeType === 1 ? found.filter((el) => el !== start) : found;
	};
	// mayBeNamed is a quick look: no name holds a word that neither the element's text nor its attributes hold.
	const mayBeNamed = (el, words) => {
		if (el.hasAttribute('aria-labelledby') || el.shadowRoot || (el.labels && el.labels.length)) return true;
		let text = el.textContent;
		for (const a of ['aria-label', 'title', 'alt', 'placeholder', 'aria-placeholder', 'data-placeholder', 'value', 'label']) if (el.hasAttribute(a)) text += ' ' + el.getAttribute(a);
		if (el.firstElementChild && el.querySelector('slot, [aria-label], img, input, svg')) return true;
		text = fold(text) + (el.tagName === 'INPUT' ? ' submit reset ' + fold(el.value) : '');
		return words.every((w) => text.includes(w));
	};
	const byRole = (start, r) => {
		const roots = rootsOf(start.shadowRoot || start), m = matcher(r.name), found = [];
		const words = r.name && r.name.has && !ODD.test(r.name.has) ? fold(r.name.has).split(' ') : null;
		for (const root of roots) for (const el of native(root, roleSelector(r.role))) {
			if (words && !mayBeNamed(el, words)) continue;
			if (!hasRole(el, r.role) || (!r.hidden && ariaHidden(el))) continue;
			if (r.states && Object.entries(r.states).some(([k, v]) => state[k](el) !== v)) continue;
			if (r.name && !m(nameOf(el))) continue;
			found.push(el);
		}
		return ordered(found, roots);
	};
	const step = (starts, p) => {
		switch (p.engine) {
		case 'nth': { const n = p.nth || 0; const el = starts.at(n); return el ? [el] : []; }
		case 'visible': return starts.filter((el) => visible(el) !== !!p.hidden);
		case 'has-text': { const m = matcher(p.text); return starts.filter((el) => m(shown(el))); }
		case 'up': return [...new Set(starts.map(up).filter(Boolean))];
		}
		const run = (start) => {
			switch (p.engine) {
			case 'css': return start.nodeType === 9 ? css(start, p.css) : css(start, p.css).concat(start.shadowRoot ? css(start.shadowRoot, p.css) : []);
			case 'xpath': return xpath(start, start.nodeType === 9 ? p.xpath : p.xpath.replace(/^(\(*)\/\//, '$1.//'));
			case 'text': return byText(start, p.text);
			case 'role': return byRole(start, p.role);
			case 'attr': return rootsOf(start).flatMap((r) => [...r.querySelectorAll(`[${p.attr}="${CSS.escape(p.value)}"]`)]);
			}
			return [];
		};
		if (starts.length === 1) return run(starts[0]);
		return [...new Set(starts.flatMap(run))];
	};
	const all = (q) => { let at = [document]; for (const p of q.parts) at = step(at, p); return at.slice(0, MAX_FOUND); };

	// follows says where b stands to a in page order: 1 behind it, -1 ahead of it, 0 when one is in the other.
	const follows = (a, b) => {
		if (inside(a, b) || inside(b, a)) return 0;
		const path = (n) => { const p = []; for (; n; n = up(n)) p.unshift(n); return p; };
		const pa = path(a), pb = path(b);
		let i = 0;
		while (pa[i] === pb[i]) i++;
		if (i === 0) return 0;
		const host = pa[i - 1], x = pa[i], y = pb[i];
		// In a host, what a slot shows stands where the slot is.
		const place = (n) => host.shadowRoot && n.parentNode === host && n.assignedSlot ? n.assignedSlot : n;
		const px = place(x), py = place(y);
		if (px !== py) {
			if (px.getRootNode() === py.getRootNode()) return px.compareDocumentPosition(py) & 4 ? 1 : -1;
			return px.getRootNode() === host.shadowRoot ? 1 : -1; // what no slot shows comes last
		}
		return x.compareDocumentPosition(y) & 4 ? 1 : -1;
	};

	// choose picks from this document. skip visible matches were counted in frames before this one.
	// Answers {el} or why there is none.
	const choose = (q, skip = 0) => {
		const found = all(q);
		const option = (el) => el.tagName === 'OPTION' && el.closest('select') && visible(el.closest('select'));
		const seen = [], hidden = [];
		const counts = q.nth !== undefined && q.nth !== null || q.after || q.before;
		for (const el of found) {
			if (visible(el)) { if (!counts) return { el, visible: 1, total: found.length }; seen.push(el); } else hidden.push(el);
		}
		let pool = seen, anchor = null, concealed = hidden;
		if (q.after || q.before) {
			const text = q.after || q.before;
			anchor = byText(document, { has: text }).find(visible);
			if (!anchor) return { why: 'anchor', total: found.length };
			const side = q.after ? 1 : -1;
			pool = seen.filter((el) => follows(anchor, el) === side);
			concealed = hidden.filter((el) => follows(anchor, el) === side);
			if (q.before) pool.reverse();
		}
		const nth = q.nth || 0;
		const at = nth >= 0 ? nth - skip : pool.length + nth + skip;
		if (pool.length && at >= 0 && at < pool.length) return { el: pool[at], visible: pool.length, total: found.length };
		const first = concealed.find(option) || concealed[0];
		return {
			why: pool.length ? 'nth' : found.length ? 'hidden' : 'nothing', visible: pool.length, hidden: concealed.length, total: found.length, anchored: !!anchor,
			option: concealed.find(option), first, firstIs: first ? brief(first) : '', firstWhy: first ? whyHidden(first) : '',
		};
	};

	return Object.freeze({
		fold, squash, clip, kids, rootsOf, parent, up, inside, box, visible, brief, whyHidden, ariaHidden, disabled, roleOf, hasRole, nameOf, shown,
		byText, byRole, css, all, choose, follows, BadSelector,
	});
})()
