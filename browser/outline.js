// The outline writes a document as text for a model: what a person sees, in page order, one thing a line, with refs to
// what can be worked. It lives in our isolated world, so that a page can neither see nor forge it, and changes nothing.
(() => {
	// Bounds of one outline; what is over is counted, never silently dropped.
	const MAX_NODES = 300000, MAX_TEXT = 3000000, MAX_NAME = 200, MAX_MS = 3000, MAX_DEPTH = 400;
	const LONG = 100;          // a link or button that says more than this is written as a block, with its parts
	const NL = '\n';

	// clean makes one line of a page's text: no control characters, nothing that turns or hides what follows.
	const ODD = /[^\x20-\x7e\xa0-\u024f]/;
	const clean = (s) => {
		if (ODD.test(s)) s = s.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' ').replace(/[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g, '');
		return s.replace(/[\s\u00a0]+/g, ' ');
	};
	const short = (s, n) => s.length > n ? s.slice(0, n).trimEnd() + '…' : s;
	// What a page wrote could look like a ref of ours. REF goes before ours until a line is whole, and no page can write it:
	// clean takes it away. In quotes nothing is taken for one.
	const REF = '\u0002', LIKE_REF = /(?<!\w)e(?=\d)/g, FORGED = /(?<![\w\u0002])e\d+(?!\w)/g, OURS = /\u0002/g;
	const finish = (line) => line.replace(FORGED, "'$&'").replace(OURS, '');
	const quoted = (s) => '"' + short(s, MAX_NAME).replaceAll('"', "'").replace(LIKE_REF, REF + 'e') + '"';
	// called writes the name of what has a ref: bare where it cannot be taken for anything that may follow, since quotes are a
	// fifth of a page's tokens.
	const ODD_NAME = /["|=]|->|\)$|^[(#-]|(?:^|\s)(?:checked|mixed|selected|pressed|current|expanded|collapsed|disabled|readonly|required|invalid|focused|modal|paused|playing|muted)$/i;
	const called = (name) => !name ? '' : ' ' + (ODD_NAME.test(name) ? quoted(name) : short(name, MAX_NAME));

	const shadow = (el) => seen.shadow(el);

	// Refs: numbers of elements, the same for as long as the element lives.
	const numbers = new WeakMap(), elements = new Map();
	let next = 0;
	const ref = (el) => {
		let n = numbers.get(el);
		if (!n) {
			n = next++;
			numbers.set(el, n);
			elements.set(n, new WeakRef(el));
			if (elements.size % 20000 === 0) for (const [k, r] of elements) if (!r.deref()) elements.delete(k);
		}
		return 'e' + n;
	};
	const refOf = (el) => REF + ref(el);
	const byRef = (n) => { const r = elements.get(n); return r ? r.deref() : undefined; };

	// Frames are told to us before: which document the element holds.
	const frames = new WeakMap();

	const INPUT = { button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox',
		color: 'color', date: 'date', 'datetime-local': 'datetime', month: 'month', week: 'week', time: 'time', file: 'file' };
	const TAG = {
		A: (el) => el.hasAttribute('href') ? 'link' : '', AREA: (el) => el.hasAttribute('href') ? 'link' : '', BUTTON: () => 'button', SUMMARY: () => 'disclosure',
		SELECT: (el) => el.multiple || el.size > 1 ? 'listbox' : 'combobox', TEXTAREA: () => 'textbox', OPTION: () => 'option',
		INPUT: (el) => el.type === 'hidden' ? 'none' : (el.hasAttribute('list') && /^(text|search|url|tel|email)$/.test(el.type) ? 'combobox' : INPUT[el.type] || 'textbox'),
		H1: () => 'heading', H2: () => 'heading', H3: () => 'heading', H4: () => 'heading', H5: () => 'heading', H6: () => 'heading',
		IMG: (el) => el.getAttribute('alt') === '' ? 'none' : 'img', UL: () => 'list', OL: () => 'list', MENU: () => 'list', LI: () => 'listitem', DL: () => 'list',
		TABLE: () => 'table', TR: () => 'row', TD: () => 'cell', TH: () => 'cell', NAV: () => 'navigation', MAIN: () => 'main', ASIDE: () => 'complementary',
		FORM: (el) => el.hasAttribute('aria-label') || el.hasAttribute('aria-labelledby') ? 'form' : '', SECTION: (el) => el.hasAttribute('aria-label') || el.hasAttribute('aria-labelledby') ? 'region' : '',
		HEADER: (el) => el.closest('main, article, section, aside, nav') ? '' : 'banner', FOOTER: (el) => el.closest('main, article, section, aside, nav') ? '' : 'contentinfo',
		DIALOG: () => 'dialog', FIELDSET: () => 'group', PROGRESS: () => 'progressbar', METER: () => 'meter', OUTPUT: () => 'status', HR: () => 'separator', CANVAS: () => 'canvas',
		IFRAME: () => 'iframe', FRAME: () => 'iframe', VIDEO: () => 'video', AUDIO: () => 'audio', EMBED: () => 'embed', OBJECT: () => 'embed', DETAILS: () => '', ARTICLE: () => '',
	};
	// What can be worked, and gets a ref.
	const WORKED = new Set(['button', 'link', 'checkbox', 'radio', 'switch', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'treeitem', 'textbox', 'searchbox', 'combobox', 'listbox', 'slider', 'spinbutton',
		'color', 'date', 'datetime', 'month', 'week', 'time', 'file', 'disclosure', 'scrollbar', 'gridcell']);
	// What holds a value that is shown.
	const VALUED = new Set(['textbox', 'searchbox', 'combobox', 'slider', 'spinbutton', 'color', 'date', 'datetime', 'month', 'week', 'time', 'file', 'progressbar', 'meter', 'scrollbar']);
	// What gets a line of its own above what is in it.
	const HOLDS = new Set(['navigation', 'main', 'complementary', 'banner', 'contentinfo', 'form', 'region', 'search', 'dialog', 'alertdialog', 'table', 'grid', 'treegrid', 'group', 'radiogroup', 'toolbar', 'menu', 'menubar', 'tablist', 'tabpanel',
		'tree', 'listbox', 'list', 'alert', 'status', 'log', 'feed', 'figure', 'application', 'article']);
	const BARE = new Set(['group', 'list', 'article', 'status', 'log', 'feed', 'figure', 'region', 'form', 'application', 'toolbar', 'tabpanel']); // without a name they say nothing
	const SKIP = new Set(['SCRIPT', 'STYLE', 'TEMPLATE', 'NOSCRIPT', 'HEAD', 'TITLE', 'META', 'LINK', 'DATALIST', 'PARAM', 'SOURCE', 'TRACK', 'COLGROUP', 'BASE', 'MAP']);
	const ROLES = new Set([...WORKED, ...VALUED, ...HOLDS, 'heading', 'img', 'image', 'row', 'cell', 'columnheader', 'rowheader', 'listitem', 'separator', 'presentation', 'none', 'generic', 'rowgroup', 'tooltip', 'term', 'definition', 'note', 'math', 'text', 'paragraph', 'document', 'timer', 'marquee', 'caption', 'code', 'mark', 'time']);
	const roleOf = (el) => {
		const said = el.getAttribute('role');
		if (said) {
			for (const r of said.toLowerCase().split(/\s+/)) if (ROLES.has(r)) return r === 'image' ? 'img' : r === 'columnheader' || r === 'rowheader' || r === 'gridcell' ? 'cell' : r === 'presentation' || r === 'generic' ? (el.tagName === 'INPUT' || el.tagName === 'BUTTON' || el.tagName === 'A' ? TAG[el.tagName](el) : 'none') : r;
		}
		const f = TAG[el.tagName];
		if (f) return f(el);
		if (el.localName === 'svg') return 'img';
		return '';
	};

	const kids = (el) => {
		const root = shadow(el);
		if (root) return root.childNodes;
		if (el.tagName === 'SLOT') { const given = el.assignedNodes(); if (given.length) return given; }
		return el.childNodes;
	};

	// said is the text in an element that a person can read, as a name.
	const said = (el, budget) => {
		if (!el.firstElementChild && !shadow(el) && el.tagName !== 'SLOT') { // most are this simple
			const c = el.firstChild;
			if (!c) return '';
			if (c === el.lastChild) return c.nodeType === 3 ? clean(c.length > 5000 ? c.data.slice(0, 5000) : c.data).trim() : '';
		}
		budget = budget || { left: 3000, nodes: 2000 };
		let text = '';
		const visit = (n, depth) => {
			if (budget.left <= 0 || --budget.nodes < 0 || depth > MAX_DEPTH) return;
			if (n.nodeType === 3) { const t = n.length > budget.left ? n.data.slice(0, budget.left) : n.data; text += t; budget.left -= t.length; return; }
			if (n.nodeType !== 1 || SKIP.has(n.tagName)) return;
			if (n.getAttribute('aria-hidden') === 'true') return;
			const st = getComputedStyle(n);
			if (st.display === 'none' || st.visibility !== 'visible') return;
			const label = n.getAttribute('aria-label');
			if (label && label.trim()) { text += ' ' + label + ' '; return; }
			if (n.tagName === 'IMG') { text += ' ' + (n.alt || '') + ' '; return; }
			if (n.localName === 'svg') { const t = n.querySelector('title'); if (t) text += ' ' + t.textContent + ' '; return; }
			if (n.tagName === 'INPUT' || n.tagName === 'SELECT' || n.tagName === 'TEXTAREA') { if (/^(button|submit|reset)$/.test(n.type)) text += ' ' + n.value + ' '; return; }
			if (n.tagName === 'BR') { text += ' '; return; }
			const inline = st.display.startsWith('inline') || st.display === 'contents';
			if (!inline) text += ' ';
			for (const c of kids(n)) visit(c, depth + 1);
			if (!inline) text += ' ';
		};
		for (const c of kids(el)) visit(c, 0);
		return clean(text).trim();
	};
	const byIds = (el, attribute) => {
		const ids = el.getAttribute(attribute);
		if (!ids) return '';
		const root = el.getRootNode();
		if (!root.getElementById) return '';
		return ids.trim().split(/\s+/).slice(0, 20).map((id) => root.getElementById(id)).filter(Boolean).map((n) => clean(n.getAttribute('aria-label') || said(n))).join(' ').trim();
	};
	// labelsOf are a field's labels. The browser's own list walks the whole document for each field.
	let labelled = new Map();
	const labelsOf = (el) => {
		const root = el.getRootNode();
		let byFor = labelled.get(root);
		if (!byFor) {
			byFor = new Map();
			if (root.querySelectorAll) for (const l of root.querySelectorAll('label[for]')) { const list = byFor.get(l.htmlFor); if (list) list.push(l); else byFor.set(l.htmlFor, [l]); }
			labelled.set(root, byFor);
		}
		const list = el.id ? byFor.get(el.id) || [] : [];
		const around = el.closest('label');
		return around && !list.includes(around) && (!around.htmlFor || around.htmlFor === el.id) ? [around, ...list] : list;
	};
	const LABELABLE = new Set(['INPUT', 'SELECT', 'TEXTAREA', 'BUTTON', 'METER', 'OUTPUT', 'PROGRESS']);
	const NAMED = new Set(['button', 'link', 'option', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'checkbox', 'radio', 'switch', 'treeitem', 'disclosure', 'heading', 'tooltip']);
	// nameOf is what an element is called; inner tells that this is what is in it.
	const nameOf = (el, role) => {
		if (el.hasAttribute('aria-labelledby')) { const n = byIds(el, 'aria-labelledby'); if (n) return n; }
		const label = el.getAttribute('aria-label');
		if (label && label.trim()) return clean(label).trim();
		const labels = LABELABLE.has(el.tagName) ? labelsOf(el) : [];
		if (labels.length) {
			const field = el;
			const t = clean(Array.from(labels, (l) => l.contains(field) ? [...kids(l)].filter((n) => n !== field && !(n.nodeType === 1 && n.contains(field))).map((n) => n.nodeType === 3 ? n.data : n.nodeType === 1 ? said(n) : '').join(' ') : said(l)).join(' ')).trim();
			if (t) return t;
		}
		switch (el.tagName) {
		case 'IMG': case 'AREA': if (el.alt) return clean(el.alt).trim(); break;
		case 'INPUT':
			if (/^(button|submit|reset)$/.test(el.type)) { const v = el.value || (el.type === 'submit' ? 'Submit' : el.type === 'reset' ? 'Reset' : ''); if (v) return clean(v).trim(); }
			if (el.type === 'image') return clean(el.alt || el.title || 'Submit').trim();
			break;
		case 'OPTION': return clean(el.label).trim();
		case 'FIELDSET': { const l = el.querySelector(':scope > legend'); if (l) return said(l); break; }
		case 'TABLE': { const c = el.caption; if (c) return said(c); break; }
		case 'IFRAME': return clean(el.title || el.name || '').trim();
		}
		if (el.localName === 'svg') { const t = el.querySelector(':scope > title'); if (t) return clean(t.textContent).trim(); }
		if (NAMED.has(role)) { const t = said(el); if (t) return t; }
		return clean(el.getAttribute('title') || el.getAttribute('placeholder') || el.getAttribute('aria-placeholder') || el.getAttribute('data-placeholder') || '').trim();
	};

	const valueOf = (el, role) => {
		if (seen.secret(el)) return '(hidden)';
		if (el.tagName === 'SELECT') {
			const chosen = [...el.selectedOptions].slice(0, 10).map((o) => clean(o.label).trim());
			let s = '= ' + quoted(chosen.join(', '));
			const n = el.options.length;
			if (n <= 8) s += ' of ' + [...el.options].map((o) => short(clean(o.label).trim(), 40)).join(' / '); else s += ' of ' + n;
			return s;
		}
		if (el.tagName === 'INPUT') {
			if (el.type === 'checkbox' || el.type === 'radio') return '';
			if (el.type === 'file') return el.files && el.files.length ? '= ' + quoted([...el.files].slice(0, 5).map((f) => clean(f.name)).join(', ')) : '';
			if (/^(button|submit|reset|image)$/.test(el.type)) return '';
			return el.value ? '= ' + quoted(clean(el.value.slice(0, 1000))) : '';
		}
		if (el.tagName === 'TEXTAREA') return el.value ? '= ' + quoted(clean(el.value.slice(0, 1000))) : '';
		if (el.tagName === 'PROGRESS' || el.tagName === 'METER') return el.hasAttribute('value') ? '= ' + el.value + '/' + el.max : '';
		const v = el.getAttribute('aria-valuetext') || el.getAttribute('aria-valuenow');
		if (v) return '= ' + quoted(clean(v));
		if (el.isContentEditable) { const t = said(el); return t ? '= ' + quoted(t) : ''; }
		if (role === 'combobox' || role === 'textbox' || role === 'searchbox') { const t = said(el); return t ? '= ' + quoted(t) : ''; }
		return '';
	};
	const attr = (el, name) => el.getAttribute(name);
	const states = (el, role) => {
		let s = '';
		if (role === 'checkbox' || role === 'radio' || role === 'switch' || role === 'menuitemcheckbox' || role === 'menuitemradio') {
			const a = attr(el, 'aria-checked');
			if (a ? a === 'true' : el.checked) s += ' checked'; else if (a === 'mixed' || el.indeterminate) s += ' mixed';
		}
		if (attr(el, 'aria-selected') === 'true' || (el.tagName === 'OPTION' && el.selected)) s += ' selected';
		if (attr(el, 'aria-pressed') === 'true') s += ' pressed';
		const c = attr(el, 'aria-current');
		if (c && c !== 'false') s += ' current';
		const x = attr(el, 'aria-expanded') || (role === 'disclosure' && el.parentElement && el.parentElement.tagName === 'DETAILS' ? String(el.parentElement.open) : '');
		if (x === 'true') s += ' expanded'; else if (x === 'false') s += ' collapsed';
		if (el.disabled || attr(el, 'aria-disabled') === 'true' || (el.matches && WORKED.has(role) && el.matches(':disabled'))) s += ' disabled';
		if (el.readOnly === true || attr(el, 'aria-readonly') === 'true') s += ' readonly';
		if (el.required === true || attr(el, 'aria-required') === 'true') s += ' required';
		if (attr(el, 'aria-invalid') === 'true') s += ' invalid';
		return s;
	};
	let active = null;
	const focused = () => { let a = document.activeElement; for (let i = 0; a && i < 50; i++) { const r = shadow(a); if (r && r.activeElement) a = r.activeElement; else break; } return a; };

	const FIELDS = 'input, select, textarea, button, a[href], [role=checkbox], [role=switch], [role=textbox], [role=combobox], meter, progress, output';
	// hiddenBox tells a field that its author hid in favour of something drawn.
	const hiddenBox = (el) => { const st = getComputedStyle(el); return st.display === 'none' || st.visibility !== 'visible'; };
	const WORKABLE = 'a[href], button, input:not([type=hidden]), select, textarea, summary, iframe, [role=button], [role=link], [role=checkbox], [role=menuitem], [role=tab], [onclick], [tabindex]:not([tabindex="-1"])';

	// outline writes the document, or what is in one element of it.
	const outline = ({ from, start, depth: maxDepth, links, find }) => {
		if (from > next) next = from;
		labelled = new Map();
		const first = next, began = performance.now();
		const out = { nodes: 0, cut: '', canvases: 0, virtual: [], scrolls: 0, refs: 0 };
		const lines = [];
		let size = 0, line = '', indent = 0, flat = 0, mark = '';
		const wanted = find ? fold(find) : '';
		// While searching, a line goes out only when it says what is looked for, below the lines of what it stands in.
		const pending = [];
		const put = (text, level) => {
			if (size > MAX_TEXT) { out.cut = out.cut || 'text'; return; }
			const whole = ' '.repeat(Math.min(level, 60)) + text;
			lines.push(whole);
			size += whole.length + 1;
		};
		const emit = (text, level) => {
			text = finish(text);
			if (!wanted) { put(text, level); return; }
			while (pending.length && pending[pending.length - 1].level >= level) pending.pop();
			if (fold(text).includes(wanted)) {
				for (const p of pending) if (!p.out) { p.out = true; put(p.text, p.level); }
				put(text.length > 600 ? around(text, wanted) : text, level);
				out.matches = (out.matches || 0) + 1;
			} else pending.push({ text: short(text, 120), level, out: false });
		};
		let token = false; // the line ends with what can be worked: a text that follows needs a bar, another ref does not
		const flush = () => {
			if (flat) { if (line && !line.endsWith(' ')) line += ' '; return; }
			const text = line.trim();
			line = '', token = false;
			if (text) { emit(mark + text, indent); mark = ''; }
		};
		const add = (t) => { if (line && !line.endsWith(' ')) line += ' '; line += t + ' '; token = true; };
		const over = () => {
			if (out.cut) return true;
			if (++out.nodes > MAX_NODES) out.cut = 'nodes';
			else if ((out.nodes & 1023) === 0 && performance.now() - began > MAX_MS) out.cut = 'time';
			else if (size > MAX_TEXT) out.cut = 'text';
			return !!out.cut;
		};
		const children = (el, pointer, depth) => { for (const c of kids(el)) visit(c, pointer, depth + 1); };
		const nest = (el, pointer, depth, header) => {
			if (flat) { if (header) add(header); children(el, pointer, depth); return; }
			flush();
			if (header) emit(mark + header, indent), mark = '';
			if (maxDepth && indent + 1 >= maxDepth && header) {
				const n = el.getElementsByTagName('*').length;
				if (n) lines[lines.length - 1] += ` (… ${n} elements)`;
				return;
			}
			if (header) indent++;
			children(el, pointer, depth);
			flush();
			if (header) indent--;
		};
		const visit = (n, pointer, depth) => {
			if (over() || depth > MAX_DEPTH) { if (depth > MAX_DEPTH) out.deep = true; return; }
			if (n.nodeType === 3) {
				if (hidden || !n.length) return;
				let t = n.data;
				if (t.length > 20000 && !wanted) { out.long = (out.long || 0) + t.length - 20000; t = t.slice(0, 20000); }
				t = clean(t);
				if (line.length > 4000) flush();
				if (token && t !== ' ') { if (!/^\s?[.,;:!?)]/.test(t)) line = line.trimEnd() + ' | '; else line = line.trimEnd(); token = false; }
				if (t === ' ') { if (line && !line.endsWith(' ')) line += ' '; } else line += line.endsWith(' ') && t[0] === ' ' ? t.slice(1) : t;
				return;
			}
			if (n.nodeType !== 1) return;
			const tag = n.tagName;
			if (SKIP.has(tag)) return;
			if (tag === 'BR') { if (flat || line.length < 80) { if (line && !line.endsWith(' ')) line += ' '; } else flush(); return; }
			const st = getComputedStyle(n), display = st.display;
			if (display === 'none') return;
			if (n.getAttribute('aria-hidden') === 'true' && n !== start) return;
			const wasHidden = hidden;
			hidden = st.visibility !== 'visible';
			element(n, tag, st, display, pointer, depth);
			hidden = wasHidden;
		};
		let hidden = false;
		const element = (n, tag, st, display, pointer, depth) => {
			const role = roleOf(n);
			if (hidden) { children(n, pointer, depth); return; } // a part of it may be visible all the same
			if (st.contentVisibility === 'hidden') return;
			const inline = display.startsWith('inline') || display === 'contents';
			if (!inline) flush();
			scroller(n, st);
			if (tag === 'LABEL' && n.control) {
				// What it says is the field's name, and stands there.
				if (n.contains(n.control)) { for (const el of n.querySelectorAll(FIELDS)) if (!hiddenBox(el)) visit(el, true, depth + 1); }
				else if (hiddenBox(n.control)) add(refOf(n) + ' clickable' + called(said(n)) + (n.control.checked ? ' checked' : '')); // the field is drawn by its label
				if (!inline) flush();
				return;
			}
			if (tag === 'DETAILS' && !n.open) {
				for (const c of n.children) if (c.tagName === 'SUMMARY') { visit(c, pointer, depth + 1); break; }
				flush();
				return;
			}
			switch (role) {
			case '': break;
			case 'none':
				if (tag === 'INPUT' || tag === 'IMG') return;
				children(n, pointer, depth);
				if (!inline) flush();
				return;
			case 'heading': {
				flush();
				const level = +attr(n, 'aria-level') || +tag[1] || 2;
				mark += '#'.repeat(Math.min(level, 6)) + ' ';
				flat++; children(n, pointer, depth); flat--;
				if (!line.trim()) mark = '';
				flush();
				return;
			}
			case 'img': {
				const name = nameOf(n, role);
				const click = clickable(n, st, pointer);
				if (click) add(refOf(n) + ' img' + called(name)); else if (name) add('img ' + quoted(name));
				if (!inline) flush();
				return;
			}
			case 'canvas':
				out.canvases++;
				add(refOf(n) + ' canvas ' + n.width + 'x' + n.height + ' (cannot be read: screenshot {ref})');
				flush();
				return;
			case 'iframe': {
				flush();
				const id = frames.get(n);
				const name = nameOf(n, role);
				const head = finish(refOf(n) + ' iframe' + (name ? ' ' + quoted(name) : ''));
				put('\u0001' + (id || '') + '\u0001' + head, indent);
				return;
			}
			case 'video': case 'audio':
				add(refOf(n) + ' ' + role + (n.paused ? ' paused' : ' playing') + (n.muted ? ' muted' : ''));
				return;
			case 'embed':
				add(refOf(n) + ' embedded object (cannot be read)');
				return;
			case 'separator':
				if (tag === 'HR') return;
				break;
			case 'row': {
				if (inTable === 2 || n.querySelector('table, ul, ol, pre')) { nest(n, pointer, depth, ''); return; }
				flush();
				mark += '';
				flat++;
				for (const c of kids(n)) {
					if (c.nodeType !== 1) { visit(c, pointer, depth + 1); continue; }
					line = line.trimEnd() + (!line ? '| ' : token ? ' ' : ' | ');
					visit(c, pointer, depth + 1);
				}
				flat--;
				if (!flat && line.replace(/[|\s]/g, '') === '') line = '';
				flush();
				return;
			}
			case 'cell':
				if (clickable(n, st, pointer) && !n.querySelector(WORKABLE)) { const name = said(n); add(refOf(n) + ' cell' + called(name) + states(n, role)); if (!inline) flush(); return; }
				children(n, st.cursor === 'pointer', depth);
				if (!inline) flush();
				return;
			case 'listitem':
				flush();
				if (flat) { add('-'); token = false; children(n, pointer, depth); return; }
				mark += '- ';
				children(n, st.cursor === 'pointer', depth);
				flush();
				mark = '';
				return;
			}
			if (WORKED.has(role) && role !== 'cell') {
				worked(n, role, inline, depth);
				return;
			}
			if (n.isContentEditable && !(n.parentElement && n.parentElement.isContentEditable)) {
				const name = nameOf(n, 'textbox');
				const v = valueOf(n, 'textbox');
				add(refOf(n) + ' textbox' + called(name) + (v ? ' ' + v : '') + states(n, 'textbox') + (n === active ? ' focused' : ''));
				flush();
				return;
			}
			if (VALUED.has(role)) {
				const name = nameOf(n, role), v = valueOf(n, role);
				add(role + (name ? ' ' + quoted(name) : '') + (v ? ' ' + v : ''));
				if (!inline) flush();
				return;
			}
			if (HOLDS.has(role)) {
				const name = nameOf(n, role);
				if (!name && BARE.has(role)) { children(n, pointer, depth); if (!inline) flush(); return; }
				const was = inTable;
				if (role === 'table') inTable = n.querySelector('table') ? 2 : 1;
				nest(n, pointer, depth, refOf(n) + ' ' + role + called(name) + (role === 'dialog' && attr(n, 'aria-modal') === 'true' ? ' modal' : ''));
				inTable = was;
				return;
			}
			if (clickable(n, st, pointer)) {
				const text = said(n);
				if (text.length <= LONG && !n.querySelector(WORKABLE)) {
					const name = nameOf(n, 'clickable') || text;
					const more = states(n, '');
					add(refOf(n) + ' clickable' + called(name) + more);
					if (!inline) flush();
					return;
				}
				if (n.tagName !== 'LABEL' && !flat) { nest(n, true, depth, refOf(n) + ' clickable'); return; }
			}
			children(n, st.cursor === 'pointer', depth);
			if (!inline) flush();
		};
		let inTable = 0;
		// clickable tells an element that takes clicks though nothing says what it is: what shows a hand where its surroundings
		// show none, or has a handler written into it.
		const clickable = (n, st, pointer) => {
			if (n.hasAttribute('onclick')) return true;
			if (n.tagName === 'LABEL' || n.tagName === 'BODY' || n.tagName === 'HTML') return false;
			if (st.cursor === 'pointer' && !pointer) return true;
			const t = n.getAttribute('tabindex');
			return t !== null && +t >= 0 && n !== document.body && !shadow(n);
		};
		const worked = (n, role, inline, depth) => {
			let name = nameOf(n, role);
			let s = refOf(n) + ' ' + (role === 'disclosure' ? 'button' : role);
			const parts = n.tagName !== 'SELECT' && n.tagName !== 'INPUT' && n.tagName !== 'TEXTAREA' && (role === 'listbox' || role === 'treeitem' || (n.firstElementChild && NAMED.has(role) && (name.length > LONG || n.querySelector(WORKABLE))));
			const own = n.getAttribute('aria-label');
			if (parts && !own && NAMED.has(role) && name === said(n)) name = role === 'treeitem' ? ownText(n) : '';
			if (!parts && name.length > MAX_NAME) out.long = (out.long || 0) + name.length - MAX_NAME;
			if (name) s += called(name);
			else if (!parts) { const near = hint(n); if (near) s += ' ' + near; }
			if (VALUED.has(role)) { const v = valueOf(n, role); if (v) s += ' ' + v; }
			s += states(n, role);
			if (n === active) s += ' focused';
			if (links && role === 'link' && n.href) s += ' -> ' + short(clean(String(n.getAttribute('href'))).replace(LIKE_REF, REF + 'e'), 300);
			if (parts) { nest(n, true, depth, s); return; }
			if (n.tagName === 'SELECT' && role === 'listbox') { /* its value says it */ s += ' ' + valueOf(n, role); }
			add(s);
			if (!inline) flush();
		};
		const ownText = (n) => clean([...kids(n)].filter((c) => c.nodeType === 3 || (c.nodeType === 1 && attr(c, 'role') !== 'group')).map((c) => c.nodeType === 3 ? c.data : said(c)).join(' ')).trim();
		// hint says of a nameless button what its author called it: the class of its icon, its id.
		const hint = (n) => {
			for (const a of ['data-testid', 'data-icon', 'id', 'name']) { const v = n.getAttribute(a); if (v && v.length < 40) return '(' + clean(v).trim() + ')'; }
			const icon = n.querySelector('svg[data-icon], use, i[class], span[class*=icon], svg[class]');
			if (icon) {
				const v = icon.getAttribute('data-icon') || icon.getAttribute('href') || icon.getAttribute('xlink:href') || icon.getAttribute('class');
				if (v) return '(' + short(clean(v).trim(), 40) + ')';
			}
			return '';
		};
		// scroller looks for lists of which only a part is in the document.
		const scroller = (n, st) => {
			const all = +n.getAttribute('aria-rowcount') || 0;
			const scrolls = (st.overflowY === 'auto' || st.overflowY === 'scroll') && n.scrollHeight > 2.5 * n.clientHeight && n.clientHeight > 20;
			if (!all && !scrolls) return;
			if (out.virtual.length >= 10) return;
			let rows = null;
			const owners = [n, ...n.querySelectorAll('*')];
			if (owners.length > 4000) return;
			for (const el of owners) if (!rows || el.childElementCount > rows.childElementCount) rows = el;
			const count = rows ? rows.childElementCount : 0;
			if (all > count + 2) { out.virtual.push({ ref: ref(n), shown: count, of: all }); return; }
			if (!scrolls || !count) return;
			let top = Infinity, bottom = -Infinity, heights = 0, seenRows = 0;
			for (const el of rows.children) { const r = el.getBoundingClientRect(); if (!r.height || !el.firstChild) continue; top = Math.min(top, r.top); bottom = Math.max(bottom, r.bottom); heights += r.height; seenRows++; }
			if (!seenRows) return;
			const box = n.getBoundingClientRect();
			const gap = Math.max(top - (box.top - n.scrollTop), (box.top - n.scrollTop + n.scrollHeight) - bottom);
			if (gap > 1.5 * n.clientHeight) out.virtual.push({ ref: ref(n), shown: seenRows, of: Math.round(n.scrollHeight / (heights / seenRows)) });
		};
		active = focused();
		if (active === document.body || active === document.documentElement) active = null;
		const top = start || document.body || document.documentElement;
		if (top) {
			if (start) { const st = getComputedStyle(top); hidden = false; element(top, top.tagName, st, st.display, false, 0); } else {
				for (const r of top === document.body ? kids(document.documentElement) : [top]) {
					if (r === top) for (const c of kids(top)) visit(c, false, 0);
					else if (r !== document.head) visit(r, false, 0); // widgets put themselves beside the body
				}
			}
		}
		flat = 0;
		flush();
		out.text = lines.join(NL);
		out.first = first;
		out.next = next;
		out.title = clean(document.title).trim();
		out.pdf = document.contentType === 'application/pdf';
		return out;
	};
	const fold = (s) => { s = clean(s); return (ODD.test(s) ? s.normalize('NFKC') : s).toLowerCase(); };
	const around = (text, wanted) => { const i = Math.max(0, fold(text).indexOf(wanted) - 200); return (i ? '…' : '') + text.slice(i, i + 600) + '…'; };

	return Object.freeze({ outline, byRef, ref: (el, from) => { if (from > next) next = from; return { first: next, ref: ref(el), next }; }, frame: (el, id) => { frames.set(el, id); } });
})()
