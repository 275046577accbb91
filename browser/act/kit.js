// What acting needs inside a document: it holds elements between our calls, says where one would get a click or why it
// would not, watches what the mouse and the keys really reach, and reads fields back. find is package locate's kit, seen
// the browser's own. It runs in our isolated world.
(find, seen) => {
	const { choose, visible, brief, whyHidden, disabled, inside, up, kids, roleOf, nameOf, shown, fold, squash, clip, rootsOf } = find;

	// ---- what we hold ----
	const held = new Map();
	let last = 0;
	const hold = (el) => {
		for (const [id, h] of held) if (h.el === el) { held.delete(id); held.set(id, h); return id; }
		held.set(++last, { el });
		for (const id of held.keys()) { if (held.size <= 64) break; drop(id); }
		return last;
	};
	const drop = (id) => { const h = held.get(id); if (h && h.disarm) h.disarm(); held.delete(id); };
	const get = (id) => { const h = held.get(id); return h && h.el; };
	const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
	const frame = () => new Promise((done) => { const t = setTimeout(done, 60); requestAnimationFrame(() => { clearTimeout(t); done(); }); });

	// until asks again when the page changes, and now and then for what changes without a trace (styles, animations).
	const until = (ask, ms) => new Promise((done, fail) => {
		let got;
		try { got = ask(); } catch (e) { fail(e); return; }
		if (got || ms <= 0) { done(got); return; }
		let queued = false;
		const finish = (v, e) => { observer.disconnect(); clearInterval(poll); clearTimeout(end); if (e) fail(e); else done(v); };
		const look = () => { queued = false; try { got = ask(); } catch (e) { finish(null, e); return; } if (got) finish(got); };
		const observer = new MutationObserver(() => { if (!queued) { queued = true; setTimeout(look, 10); } });
		for (const r of rootsOf(document)) observer.observe(r, { subtree: true, childList: true, attributes: true, characterData: true });
		const poll = setInterval(look, 200), end = setTimeout(() => finish(got), ms);
	});

	// shownOnce waits until the document has been drawn: before that the browser drops input without a word.
	let drawn = document.readyState === 'complete' && performance.getEntriesByType('paint').length > 0;
	const shownOnce = async () => {
		if (drawn) return;
		const end = performance.now() + 1000; // a page that draws nothing at all takes input all the same
		while (!performance.getEntriesByType('paint').length && performance.now() < end) await frame();
		await frame();
		drawn = true;
	};

	// ---- finding ----
	// want picks: q with skip (visible matches in frames before this one). Options of a native list count where nothing
	// else is visible, and so does any hidden match where hidden is set.
	const want = ({ q, skip, hidden, options }) => {
		const c = choose(q, skip || 0);
		if (c.el) return c;
		if (options && c.option && !(c.visible > 0)) return { el: c.option };
		if (hidden && c.first && c.why === 'hidden') return { el: c.first, hidden: true };
		return c;
	};
	const miss = (c) => ({ why: c.why, visible: c.visible || 0, hidden: c.hidden || 0, total: c.total || 0, firstIs: c.firstIs || '', firstWhy: c.firstWhy || '' });
	// locate waits for a match and holds it.
	const locate = async (a) => {
		let c;
		await until(() => { c = want({ ...a, hidden: false }); return c.el; }, a.ms || 0);
		if (!c.el && a.hidden) c = want(a);
		return c.el ? { id: hold(c.el) } : { miss: miss(c) };
	};
	// every gives all visible matches, for lists of them.
	const every = (q, max) => find.all(q).filter(visible).slice(0, max);

	// ---- what an element is for ----
	const TEXTS = /^(text|search|email|tel|url|password|number|)$/;
	const SET = /^(date|time|month|week|datetime-local|color|range)$/;
	const isEditable = (el) => el.isContentEditable || (el.getAttribute('contenteditable') !== null && el.getAttribute('contenteditable') !== 'false');
	const kindOf = (el) => {
		if (el.tagName === 'SELECT') return 'select';
		if (el.tagName === 'TEXTAREA') return 'text';
		if (el.tagName === 'INPUT') {
			const type = el.type;
			if (TEXTS.test(type)) return 'text';
			if (SET.test(type)) return type;
			return /^(checkbox|radio)$/.test(type) ? 'check' : type === 'file' ? 'file' : 'button';
		}
		if (isEditable(el)) return 'editable';
		const role = roleOf(el);
		if (/^(checkbox|switch|radio|menuitemcheckbox|menuitemradio)$/.test(role)) return 'check';
		if (role === 'slider' || role === 'spinbutton') return 'slider';
		if (/^(combobox|listbox)$/.test(role)) return 'combobox';
		return 'none';
	};
	// field is the element that takes the value where the caller named its label or what surrounds it.
	const field = (el) => {
		if (el.tagName === 'LABEL' && el.control) return el.control;
		if (el.tagName === 'OPTION' || el.tagName === 'OPTGROUP') return el.closest('select') || el;
		if (kindOf(el) === 'editable') { let e = el; while (e.parentElement && e.parentElement.isContentEditable) e = e.parentElement; return e; }
		if (kindOf(el) !== 'none' && kindOf(el) !== 'combobox') return el;
		const l = el.closest('label');
		if (l && l.control && kindOf(el) === 'none') return l.control;
		const within = rootsOf(el.shadowRoot || el).flatMap((r) => [...r.querySelectorAll('input:not([type=hidden]), textarea, select, [contenteditable=""], [contenteditable=true], [role=checkbox], [role=switch], [role=slider]')]).filter(visible);
		return within.length === 1 ? within[0] : el;
	};
	const secret = (el) => el.tagName === 'INPUT' && (el.type === 'password' || (seen && seen.secret && seen.secret(el)));
	// textOf is what an editor holds, with a line for each block.
	const textOf = (el) => el.innerText.replace(/\u200b|\ufeff/g, '').replace(/\n$/, '');
	const valueOf = (el) => {
		switch (kindOf(el)) {
		case 'select': return [...el.selectedOptions].map((o) => squash(o.label)).join(', ');
		case 'check': return checked(el);
		case 'editable': return textOf(el);
		case 'slider': return el.getAttribute('aria-valuetext') || el.getAttribute('aria-valuenow') || '';
		case 'combobox': case 'none': return squash(shown(el));
		}
		return String(el.value);
	};
	const checked = (el) => el.tagName === 'INPUT' ? (el.indeterminate ? 'mixed' : el.checked ? 'true' : 'false') : el.getAttribute('aria-checked') || 'false';
	const describe = (id) => {
		const el = get(id);
		if (!el) return { kind: 'gone' };
		return { kind: kindOf(el), tag: el.localName, type: el.type || '', secret: secret(el), readonly: !!el.readOnly || el.getAttribute('aria-readonly') === 'true', brief: brief(el),
			connected: el.isConnected, multiline: el.tagName === 'TEXTAREA' || kindOf(el) === 'editable', role: roleOf(el), multiple: !!el.multiple };
	};
	// retarget holds the field that the element stands for.
	const retarget = (id) => { const el = get(id); return el ? hold(field(el)) : 0; };

	// ---- aiming ----
	const clickable = 'button, a[href], label, summary, option, [role=button], [role=link], [role=option], [role=menuitem], [role=tab], [role=checkbox], [role=radio], [role=switch]';
	const reaches = (hit, el) => {
		if (!hit) return false;
		if (inside(hit, el)) return true;
		if (el.labels && [...el.labels].some((l) => inside(hit, l))) return true;
		if (hit.tagName === 'LABEL' && hit.control === el) return true;
		if (el.tagName === 'AREA' && hit.tagName === 'IMG' && hit.useMap) return true;
		// What is in a button lets the button have the click, where it takes none itself.
		const owner = el.closest(clickable);
		return !!owner && owner !== el && inside(hit, owner);
	};
	const hitAt = (x, y, el) => {
		let root = document, hit = null;
		const own = el && el.getRootNode(); // the way into a closed shadow root that only a ref can lead to
		for (let depth = 0; depth < 50; depth++) {
			const at = root.elementFromPoint(x, y);
			if (!at || at === hit) return hit;
			hit = at;
			if (at.shadowRoot) { root = at.shadowRoot; continue; }
			if (own && own.host === at && own !== root) { root = own; continue; }
			return hit;
		}
		return hit;
	};
	const areaOf = (el) => { const map = el.closest('map'); return map && document.querySelector(`img[usemap="#${CSS.escape(map.name)}"]`); };
	// points are where an element may be hit, the likeliest first.
	const points = (el, at) => {
		const b = find.box(el);
		if (!b) return [];
		if (at) return [[b.left + at[0], b.top + at[1]]];
		const list = [];
		const inView = (r) => {
			const l = Math.max(r.left, 0), t = Math.max(r.top, 0), rr = Math.min(r.right, innerWidth), bb = Math.min(r.bottom, innerHeight);
			return rr - l > 0 && bb - t > 0 ? { l, t, w: rr - l, h: bb - t } : null;
		};
		// A line or an outline is hit on its stroke, not in its middle.
		if (typeof SVGGeometryElement !== 'undefined' && el instanceof SVGGeometryElement) {
			try {
				const m = el.getScreenCTM(), n = el.getTotalLength(), s = getComputedStyle(el);
				if (s.fill === 'none' || el.tagName === 'line' || el.tagName === 'polyline') for (const f of [.5, .25, .75]) { const p = el.getPointAtLength(n * f).matrixTransform(m); list.push([p.x, p.y]); }
			} catch { /* not drawn */ }
		}
		const rects = getComputedStyle(el).display.startsWith('inline') ? [...el.getClientRects()].filter((r) => r.width > 0 && r.height > 0) : [];
		for (const r of rects.length > 1 ? [...rects, b] : [b]) {
			const v = inView(r);
			if (v) for (const [fx, fy] of [[.5, .5], [.25, .5], [.75, .5], [.5, .25], [.5, .75], [.08, .08], [.92, .92], [.92, .08], [.08, .92]]) list.push([v.l + v.w * fx, v.t + v.h * fy]);
		}
		return list;
	};
	const moved = (a, b) => !a || !b || Math.abs(a.left - b.left) > 1 || Math.abs(a.top - b.top) > 1 || Math.abs(a.width - b.width) > 1 || Math.abs(a.height - b.height) > 1;
	// scrolled brings an element into view and tells whether it had to.
	const scrolled = (el, b) => {
		const target = el.tagName === 'AREA' ? areaOf(el) || el : el;
		if (b.left >= 0 && b.top >= 0 && b.right <= innerWidth && b.bottom <= innerHeight && !clipped(el, b)) return false;
		target.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
		return true;
	};
	const clipped = (el, b) => {
		for (let n = up(el); n && n !== document.body && n !== document.documentElement; n = up(n)) {
			const s = getComputedStyle(n);
			if (s.overflowX === 'visible' && s.overflowY === 'visible') continue;
			const r = n.getBoundingClientRect();
			if (b.left < r.left - 1 || b.top < r.top - 1 || b.right > r.right + 1 || b.bottom > r.bottom + 1) return true;
		}
		return false;
	};
	const moving = (el) => {
		if (!document.getAnimations) return true;
		for (const a of document.getAnimations()) {
			const t = a.effect && a.effect.target;
			if (a.playState === 'running' && t && (inside(el, t) || (a.effect.pseudoElement === null && inside(t, el)))) return true;
		}
		return false;
	};
	// take says where the element can be hit now, or what stands in the way.
	const take = async (el, a) => {
		if (!el.isConnected) return { problem: 'gone' };
		if (!visible(el)) {
			// A hidden box whose label is what people see and click.
			const l = el.labels && !disabled(el) && [...el.labels].find(visible);
			if (!l || a.at) return { problem: 'hidden', by: whyHidden(el) };
			scrolled(l, find.box(l));
			await frame();
			for (const [x, y] of points(l)) if (inside(hitAt(x, y, l), l)) return { x, y };
			return { problem: 'covered', by: brief(hitAt(...points(l)[0], l)) };
		}
		if (!a.disabledToo && disabled(el)) return { problem: 'disabled', by: brief(el) };
		let b = find.box(el);
		const did = scrolled(el, b);
		if (did) await frame(); // what the page does on scrolling comes first
		if (moving(el)) {
			for (let i = 0; i < 40; i++) {
				await frame();
				const now = find.box(el);
				if (!now) return { problem: 'hidden', by: whyHidden(el) };
				const still = i > 0 && !moved(b, now);
				b = now;
				if (still) break;
				if (i === 39) return { problem: 'moving', by: brief(el) };
			}
		}
		const list = points(el, a.at);
		if (!list.length) return { problem: 'outside', by: brief(el) };
		let cover = null;
		for (const [x, y] of list) {
			if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) continue;
			const hit = hitAt(x, y, el);
			if (reaches(hit, el)) return { x, y };
			cover = cover || hit;
		}
		// A box that is drawn by its label alone is worked through the label.
		if (el.labels) for (const l of el.labels) if (visible(l)) {
			scrolled(l, find.box(l));
			for (const [x, y] of points(l)) { const hit = hitAt(x, y, l); if (inside(hit, l) && !(hit.closest('a[href], button') && inside(hit.closest('a[href], button'), l))) return { x, y }; }
		}
		if (a.anyway) for (const [x, y] of list) if (x >= 0 && y >= 0 && x < innerWidth && y < innerHeight) return { x, y, cover: cover ? brief(cover) : '' };
		if (!cover) return { problem: 'outside', by: brief(el) };
		if (inside(el, cover) && getComputedStyle(el).pointerEvents === 'none') return { problem: 'through', by: brief(cover) };
		return { problem: 'covered', by: brief(cover) };
	};
	// aim waits until an element can be hit, and watches it from then on. Without q it is the one that is held as id.
	const aim = async (a) => {
		const end = performance.now() + a.ms;
		await shownOnce();
		let el = a.id ? get(a.id) : null, why = null, id = a.id || 0;
		if (a.id && !el) return { problem: 'gone' };
		for (;;) {
			if (a.q && (!el || !el.isConnected || !a.q.counted)) {
				let c;
				await until(() => { c = want(a); return c.el; }, Math.max(0, end - performance.now()));
				if (!c.el) return why && why.problem !== 'gone' ? why : { miss: miss(c) };
				el = a.field ? field(c.el) : c.el;
				id = hold(el);
			}
			if (!a.q && !el.isConnected) return { problem: 'gone' };
			if (el.tagName === 'OPTION' || el.tagName === 'OPTGROUP') return { id, native: true, ...describe(id) };
			// A page that holds the mouse gets every press, wherever it goes.
			if (document.pointerLockElement && document.pointerLockElement !== el) { document.exitPointerLock(); await frame(); }
			why = await take(el, a);
			if (!why.problem) { if (a.watch !== false) arm(id); return { id, x: why.x, y: why.y, cover: why.cover || '', ...describe(id) }; }
			if (performance.now() >= end) return { ...why, id };
			await sleep(Math.min(80, Math.max(1, end - performance.now())));
		}
	};

	// ---- what input reaches ----
	const DOWN = ['pointerdown', 'mousedown', 'touchstart'], UP = ['pointerup', 'mouseup', 'touchend', 'click', 'auxclick', 'contextmenu', 'dblclick'], MOVE = ['pointermove', 'mousemove', 'pointerover'];
	// arm watches what the next press reaches, and keeps it from anything but our element: a press that would land
	// elsewhere because the page moved under it does nothing.
	const arm = (id) => {
		const h = held.get(id);
		if (!h) return;
		for (const other of held.values()) if (other.disarm) other.disarm();
		Object.assign(h, { down: false, up: false, click: false, over: false, drag: '', other: '', blocked: false, presses: 0 });
		const el = h.el, places = new Set([window, el.getRootNode()]);
		const on = (e) => {
			if (!e.isTrusted || e.armed === id) return;
			const path = e.composedPath(), first = path[0];
			// From a closed root the window sees only its host; the root itself has the last word.
			if (e.currentTarget === window && el.getRootNode() !== document && path.includes(el.getRootNode().host) && !path.includes(el.getRootNode())) return;
			const hit = first && first.nodeType === 1 && (reaches(first, el) || (first.nodeType === 1 && inside(el, first) && getComputedStyle(el).pointerEvents === 'none' && first === h.through));
			if (e.type === 'dragstart') { h.drag = 'start'; wake(h); return; }
			if (DOWN.includes(e.type)) {
				if (hit && !h.blocked) { h.down = true; if (e.type === 'mousedown') h.presses++; } else { h.blocked = true; h.other = first && first.nodeType === 1 ? brief(first) : 'the page'; }
			} else if (UP.includes(e.type)) {
				if (e.type === 'click' || e.type === 'auxclick' || e.type === 'contextmenu') { if (hit) h.click = true; } else if (e.type === 'mouseup') h.up = true;
			} else if (hit) h.over = true;
			if (h.blocked && !MOVE.includes(e.type)) { e.preventDefault(); e.stopImmediatePropagation(); }
			wake(h);
		};
		for (const p of places) for (const t of [...DOWN, ...UP, ...MOVE, 'dragstart']) p.addEventListener(t, on, { capture: true, passive: false });
		h.disarm = () => { for (const p of places) for (const t of [...DOWN, ...UP, ...MOVE, 'dragstart']) p.removeEventListener(t, on, true); clearTimeout(forget); h.disarm = null; };
		const forget = setTimeout(() => h.disarm && h.disarm(), 20000); // whoever armed it may be gone
	};
	const wake = (h) => { if (h.wake) h.wake(); };
	const waitFor = async (h, ready, ms) => {
		const end = performance.now() + ms;
		while (!ready(h) && performance.now() < end) await new Promise((done) => { h.wake = done; setTimeout(done, Math.max(1, end - performance.now())); });
		h.wake = null;
	};
	const report = (h) => ({ down: h.down, up: h.up, click: h.click, over: h.over, drag: h.drag, other: h.other, blocked: h.blocked, connected: h.el.isConnected });
	// pressed waits for what the press reached; released for the click. An answer of the browser may overtake the event.
	const pressed = async (id, ms) => { const h = held.get(id); if (!h) return { gone: true }; await waitFor(h, (h) => h.down || h.blocked, ms); return report(h); };
	const released = async (id, ms) => { const h = held.get(id); if (!h) return { gone: true }; await waitFor(h, (h) => h.click || (h.up && (h.blocked || !h.el.isConnected)), ms); if (h.blocked) await sleep(0); const r = report(h); if (h.disarm) h.disarm(); return r; };
	const moves = async (id, ms) => { const h = held.get(id); if (!h) return { gone: true }; await waitFor(h, (h) => h.over, ms); return report(h); };
	const disarm = (id) => { const h = held.get(id); if (h && h.disarm) h.disarm(); };

	// through gives the point of this document where a point of the frame in el lies, or what covers it.
	const through = async (el, x, y, remote) => {
		const place = () => {
			const r = el.getBoundingClientRect(), sx = el.offsetWidth ? r.width / el.offsetWidth : 1, sy = el.offsetHeight ? r.height / el.offsetHeight : 1, s = getComputedStyle(el);
			return [r.left + (el.clientLeft + parseFloat(s.paddingLeft || 0) + x) * sx, r.top + (el.clientTop + parseFloat(s.paddingTop || 0) + y) * sy];
		};
		if (!visible(el)) return { problem: 'hidden', by: whyHidden(el) };
		let [px, py] = place();
		// What the other process scrolled arrives here a moment later, and the mouse follows what was drawn.
		if (remote) for (let i = 0, same = 0; i < 20 && same < 3; i++) { await frame(); const now = place(); same = Math.abs(now[0] - px) < .5 && Math.abs(now[1] - py) < .5 ? same + 1 : 0; [px, py] = now; }
		if (px < 0 || py < 0 || px >= innerWidth || py >= innerHeight || hitAt(px, py, el) !== el) {
			// Bring the point itself, not the middle of a tall frame, into view.
			for (let n = up(el); n; n = up(n)) {
				[px, py] = place();
				const r = n === document.documentElement || n === document.body ? { left: 0, top: 0, right: innerWidth, bottom: innerHeight } : n.getBoundingClientRect();
				if (px < r.left || px >= r.right || py < r.top || py >= r.bottom) (n === document.body || n === document.documentElement ? window : n).scrollBy({ left: px - (r.left + r.right) / 2, top: py - (r.top + r.bottom) / 2, behavior: 'instant' });
			}
			await frame();
			[px, py] = place();
		}
		if (px < 0 || py < 0 || px >= innerWidth || py >= innerHeight) return { problem: 'outside', by: brief(el) };
		const hit = hitAt(px, py, el);
		if (hit !== el) return { problem: 'covered', by: brief(hit) };
		return { x: px, y: py };
	};

	// ---- keys and fields ----
	const active = () => { let a = document.activeElement; while (a && a.shadowRoot && a.shadowRoot.activeElement) a = a.shadowRoot.activeElement; return a; };
	const focused = (el) => { const a = active(); if (a === el || (a && inside(a, el))) return true; const r = el.getRootNode(); return !!r.activeElement && (r.activeElement === el || inside(r.activeElement, el)); };
	// focus makes keys go into the field, and says what it holds.
	const focus = (id) => {
		let el = get(id);
		if (!el) return { ok: false };
		if (!el.isConnected) { // the page put another in its place when it was clicked
			const a = active();
			if (!a || kindOf(a) === 'none') return { ok: false };
			el = a;
			id = hold(el);
		}
		if (!focused(el)) el.focus({ preventScroll: true });
		const a = active();
		// A box that opens a field of its own when it is clicked.
		if (!focused(el) || (kindOf(el) === 'none' || kindOf(el) === 'combobox')) { if (a && a !== document.body && /^(text|editable)$/.test(kindOf(a))) { el = a; id = hold(el); } }
		return { ok: focused(el), id, ...describe(id), empty: valueOf(el) === '' };
	};
	// selectAll marks what a field holds, so that what is typed takes its place.
	const selectAll = (id) => { const el = get(id); if (el && el.select && el.tagName !== 'SELECT') { el.select(); return true; } return false; };
	const caretToEnd = (id) => {
		const el = get(id);
		if (!el) return;
		if (el.setSelectionRange) { try { el.setSelectionRange(el.value.length, el.value.length); } catch { el.select(); /* kinds without a caret: the key that follows takes it to the end */ } return; }
		const s = document.getSelection();
		if (s) { s.selectAllChildren(el); s.collapseToEnd(); }
	};
	const read = (id) => {
		let el = get(id);
		if (!el) return { ok: false };
		if (!el.isConnected) { const a = active(); if (a && kindOf(a) !== 'none') el = a; else return { ok: false }; }
		return { ok: true, value: clip(valueOf(el), 10000), length: valueOf(el).length, secret: secret(el), invalid: el.validity && !el.validity.valid ? clip(el.validationMessage || 'not valid', 200) : '', max: el.maxLength > 0 ? el.maxLength : 0 };
	};
	// readSoon reads after the page's own scripts had their turn: what they throw away at once was never in the field.
	const readSoon = async (id) => { const el = get(id); await sleep(0); if (el && kindOf(el) === 'editable') { await frame(); await frame(); } return read(id); };
	const tell = (el, ...types) => { for (const t of types) el.dispatchEvent(t === 'input' ? new InputEvent('input', { bubbles: true, composed: true, inputType: 'insertReplacementText' }) : new Event(t, { bubbles: true, composed: true })); };
	// put sets what cannot be typed reliably: dates, times, colours, sliders.
	const put = (id, value) => {
		const el = get(id);
		if (!el || !el.isConnected) return { ok: false };
		el.focus({ preventScroll: true });
		const before = el.value;
		el.value = value;
		const after = el.value;
		if (after !== before) tell(el, 'input', 'change');
		return { ok: true, value: after, was: before, min: el.min || '', max: el.max || '', step: el.step || '' };
	};

	const colour = (v) => {
		const c = document.createElement('canvas').getContext('2d');
		c.fillStyle = '#010203';
		c.fillStyle = v;
		if (c.fillStyle === '#010203' && !/^#010203$/i.test(v.trim())) return '';
		return /^#[0-9a-f]{6}$/.test(c.fillStyle) ? c.fillStyle : '';
	};
	// locale is how people who read this page write dates: the page's language, the browser's, and some more for names.
	const locale = () => {
		const known = (l) => { try { return l && Intl.DateTimeFormat.supportedLocalesOf(l).length > 0; } catch { return false; } };
		const own = [document.documentElement.lang, navigator.language].filter(known);
		const months = {};
		for (const l of ['pl', 'pt', 'nl', 'it', 'es', 'fr', 'de', 'en', ...own.reverse()]) if (known(l)) for (let m = 0; m < 12; m++) for (const style of ['long', 'short']) for (const day of [undefined, 'numeric']) {
			const part = new Intl.DateTimeFormat(l, { month: style, day }).formatToParts(new Date(2026, m, 3)).find((p) => p.type === 'month');
			if (part && !/^\d/.test(part.value)) months[part.value.toLowerCase().replace(/\./g, '')] = m + 1;
		}
		const order = new Intl.DateTimeFormat(own.at(-1) || 'en-US').formatToParts(new Date(2026, 1, 3)).filter((p) => p.type === 'day' || p.type === 'month').map((p) => p.type);
		return { monthFirst: order[0] === 'month', months };
	};
	const sliderNow = (id) => Number(get(id).getAttribute('aria-valuenow'));

	// ---- lists ----
	const optionsOf = (el) => [...el.options].map((o, i) => ({ i, label: squash(o.label || o.textContent), value: o.value, disabled: o.disabled || (o.parentElement.tagName === 'OPTGROUP' && o.parentElement.disabled) }));
	// pickFrom finds each wish among labels and values: exactly, without case, then as the only one that has it as a part.
	const pickFrom = (list, wish) => {
		const w = fold(wish);
		for (const same of [(o) => o.label === wish, (o) => o.value === wish, (o) => fold(o.label) === w, (o) => fold(o.value) === w]) { const o = list.find(same); if (o) return o; }
		const parts = list.filter((o) => fold(o.label).includes(w));
		return parts.length === 1 ? parts[0] : null;
	};
	// setOptions selects in a native list by label, value or index.
	const setOptions = (id, { wishes, index }) => {
		const el = get(id);
		if (!el || !el.isConnected) return { problem: 'gone' };
		if (disabled(el)) return { problem: 'disabled', by: brief(el) };
		const list = optionsOf(el), picked = [];
		if (index !== null && index !== undefined) {
			const o = list.at(index);
			if (!o) return { problem: 'nooption', options: list.map((o) => o.label).slice(0, 40), count: list.length };
			picked.push(o);
		}
		for (const w of wishes || []) {
			const o = pickFrom(list, w);
			if (!o) return { problem: 'nooption', options: list.map((o) => o.label).slice(0, 40), count: list.length };
			picked.push(o);
		}
		const off = picked.find((o) => o.disabled);
		if (off) return { problem: 'optiondisabled' };
		if (!el.multiple && picked.length > 1) return { problem: 'notmultiple' };
		el.focus({ preventScroll: true });
		const on = new Set(picked.map((o) => o.i));
		let changed = false;
		[...el.options].forEach((o, i) => { if (el.multiple ? o.selected !== on.has(i) : on.has(i) && !o.selected) { o.selected = on.has(i); changed = true; } });
		if (changed) tell(el, 'input', 'change');
		return { changed, labels: picked.map((o) => o.label) };
	};
	const selectedIs = async (id, labels) => {
		const el = get(id);
		await frame();
		if (!el || !el.isConnected) return { known: false };
		const now = [...el.selectedOptions].map((o) => squash(o.label || o.textContent));
		return { known: true, same: now.length === labels.length && labels.every((l) => now.includes(l)), now };
	};

	// A custom list: what opens when its box is clicked.
	const OPTION = '[role=option], [role=menuitem], [role=menuitemradio], [role=menuitemcheckbox], [role=treeitem], [role=radio]';
	const owned = (el) => {
		const found = [];
		for (let n = el; n && found.length === 0; n = up(n)) {
			for (const a of ['aria-controls', 'aria-owns']) for (const i of (n.getAttribute(a) || '').split(/\s+/)) { const o = i && n.getRootNode().getElementById && n.getRootNode().getElementById(i); if (o) found.push(o); }
			if (n !== el && !/^(DIV|SPAN)$/.test(n.tagName)) break;
			if (n !== el && n.querySelectorAll('input, select, [role=combobox], [aria-haspopup]').length > 1) break;
		}
		for (const i of el.querySelectorAll('[aria-controls], [aria-owns]')) for (const a of ['aria-controls', 'aria-owns']) { const o = i.getAttribute(a) && document.getElementById(i.getAttribute(a)); if (o) found.push(o); }
		return found.filter(visible);
	};
	let snapshotBefore = null;
	// mark remembers what was visible, so that what opens can be told from it.
	const mark = () => { snapshotBefore = new WeakSet(); for (const r of rootsOf(document)) for (const el of r.querySelectorAll('*')) if (el.checkVisibility({ visibilityProperty: true }) && find.box(el)) snapshotBefore.add(el); };
	const isNew = (el) => snapshotBefore && !snapshotBefore.has(el);
	const choices = (id) => {
		const el = get(id);
		if (!el) return [];
		const deep = (start, css) => rootsOf(start).flatMap((r) => [...r.querySelectorAll(css)]).filter(visible);
		for (const list of owned(el)) { const o = deep(list.shadowRoot || list, OPTION); if (o.length) return o; }
		if (roleOf(el) === 'listbox' || roleOf(el) === 'radiogroup' || roleOf(el) === 'menu') { const o = deep(el.shadowRoot || el, OPTION); if (o.length) return o; }
		let o = deep(document, OPTION).filter(isNew);
		if (o.length) return o;
		o = deep(document, '[role=listbox] *, [role=menu] *').filter((x) => isNew(x) && !x.firstElementChild);
		if (o.length) return o;
		// No roles at all: the leaves that came into sight.
		return deep(document, 'li, div, span, a, button, td').filter((x) => isNew(x) && squash(shown(x)) !== '' && ![...x.children].some((c) => squash(shown(c)) === squash(shown(x))));
	};
	// choice waits for the open list to show what is wanted, scrolling it as far as it goes, and holds it.
	const choice = async (id, wish, ms) => {
		const end = performance.now() + ms;
		const seenLabels = new Map();
		let scroller = null, stuck = 0;
		for (;;) {
			const now = choices(id);
			const list = now.map((o) => ({ o, label: squash(shown(o)) || nameOf(o), value: o.getAttribute('data-value') || o.getAttribute('value') || '' })).filter((c) => c.label !== '');
			for (const c of list) seenLabels.set(c.label, true);
			const scrollable = now.length ? scrollerOf(now[0]) : null;
			const exact = list.find((c) => c.label === wish) || list.find((c) => fold(c.label) === fold(wish)) || list.find((c) => c.value === wish);
			const more = scrollable && scrollable.scrollTop + scrollable.clientHeight < scrollable.scrollHeight - 1;
			const got = exact || (!more ? pickFrom(list, wish) : null);
			if (got) return { id: hold(got.o), label: got.label, was: got.o.getAttribute('aria-selected') };
			if (more) {
				const before = scrollable.scrollTop;
				scrollable.scrollTop = before + Math.max(20, scrollable.clientHeight * 0.8);
				scroller = scrollable;
				await frame();
				stuck = scrollable.scrollTop === before ? stuck + 1 : 0;
				if (stuck < 3 && performance.now() < end + 3000) continue;
			}
			if (list.length && !more && performance.now() >= Math.min(end, end - ms + 600)) break;
			if (performance.now() >= end) break;
			await until(() => choices(id).length !== now.length, Math.min(150, Math.max(1, end - performance.now())));
		}
		if (scroller) scroller.scrollTop = 0;
		return { id: 0, options: [...seenLabels.keys()].slice(0, 40).map((l) => clip(l, 80)), count: seenLabels.size };
	};
	// chosen says whether the list shows what was chosen.
	const chosen = async (id, option, label) => {
		const ok = () => {
			const el = get(id), o = get(option);
			if (!el || !el.isConnected) return { known: false };
			const shows = fold(kindOf(el) === 'text' ? el.value : shown(el) + ' ' + valueOf(el) + ' ' + [...el.querySelectorAll('input')].map((i) => i.value).join(' ')).includes(fold(label));
			// A box around the field, or beside the hidden one, may be what shows the choice.
			let around = false;
			for (let n = up(el), i = 0; n && i < 2 && !around; n = up(n), i++) if (n.querySelectorAll('input, select, [role=combobox]').length <= 1) around = fold(shown(n)).includes(fold(label)) && !(o && inside(o, n) && visible(o));
			const selected = o && o.isConnected && (o.getAttribute('aria-selected') === 'true' || o.getAttribute('aria-checked') === 'true');
			return { known: true, same: shows || around || !!selected };
		};
		await until(() => { const r = ok(); return r.known && r.same; }, 700);
		return ok();
	};

	// ---- scrolling ----
	const canScroll = (n, axis) => {
		const s = getComputedStyle(n), root = n === document.scrollingElement;
		const o = axis === 'x' ? s.overflowX : s.overflowY;
		const room = axis === 'x' ? n.scrollWidth - n.clientWidth : n.scrollHeight - n.clientHeight;
		return room > 1 && (root || /(auto|scroll|overlay)/.test(o));
	};
	const scrollerOf = (el, axis = 'y') => { for (let n = el; n; n = up(n)) if (n.nodeType === 1 && canScroll(n, axis)) return n; return null; };
	const bar = (n) => ({ top: Math.round(n.scrollTop), left: Math.round(n.scrollLeft), height: n.scrollHeight, width: n.scrollWidth, view: n.clientHeight, viewWidth: n.clientWidth, brief: n === document.scrollingElement ? 'the page' : brief(n) });
	// scroller holds what scrolls around an element (0: around the middle of the view), and says how far it is.
	const scroller = (id, axis) => {
		let n = id ? scrollerOf(get(id), axis) : null;
		if (id && !n) { // a list's frame may be named by something around it
			const el = get(id);
			n = rootsOf(el.shadowRoot || el).flatMap((r) => [...r.querySelectorAll('*')]).find((x) => canScroll(x, axis) && visible(x)) || null;
		}
		if (!id) {
			n = document.scrollingElement && canScroll(document.scrollingElement, axis) ? document.scrollingElement : null;
			if (!n) { // the page itself stands still: the largest part that scrolls
				const big = [...document.querySelectorAll('*')].filter((x) => canScroll(x, axis) && visible(x)).sort((a, b) => b.clientWidth * b.clientHeight - a.clientWidth * a.clientHeight);
				n = big[0] || null;
			}
		}
		if (!n) return { id: 0 };
		const b = n === document.scrollingElement ? { left: 0, top: 0, right: innerWidth, bottom: innerHeight } : n.getBoundingClientRect();
		const l = Math.max(b.left, 0), t = Math.max(b.top, 0), r = Math.min(b.right, innerWidth), bt = Math.min(b.bottom, innerHeight);
		return { id: hold(n), ...bar(n), x: (l + r) / 2, y: (t + bt) / 2, inView: r > l && bt > t };
	};
	// scrollBy is for what the wheel does not move; settled waits until what was scrolled stands still.
	const scrollBy = (id, dx, dy) => { const n = get(id); if (n) n.scrollBy({ left: dx, top: dy, behavior: 'instant' }); };
	const scrollEnd = (id, where) => { const n = get(id); if (n) n.scrollTo({ top: where === 'top' ? 0 : n.scrollHeight, behavior: 'instant' }); };
	const settled = async (id, from, ms) => {
		const n = get(id), end = performance.now() + ms;
		if (!n) return { gone: true };
		let was = null, same = 0;
		while (performance.now() < end) {
			await frame();
			const now = n.scrollTop + ',' + n.scrollLeft;
			same = now === was ? same + 1 : 0;
			was = now;
			if (same >= 2 && (now !== from || performance.now() > end - ms + 250)) break;
		}
		return bar(n);
	};
	const intoView = async (id) => { const el = get(id); if (!el || !el.isConnected) return { problem: 'gone' }; if (!visible(el)) return { problem: 'hidden', by: whyHidden(el) }; scrolled(el, find.box(el)); await frame(); const b = find.box(el); return { ok: !!b && b.bottom > 0 && b.right > 0 && b.top < innerHeight && b.left < innerWidth }; };
	const rows = (id) => { const n = get(id); if (!n) return {}; const t = n.querySelector('[aria-rowcount]') || n.closest('[aria-rowcount]'); return { total: t ? Number(t.getAttribute('aria-rowcount')) : 0, shown: n.querySelectorAll('[role=row], tr, li, [role=listitem], [role=option]').length, text: n.textContent.length, nodes: n.getElementsByTagName('*').length }; };

	// grows waits for a list at its end to become longer.
	const grows = async (id, height, ms) => { const n = get(id); return n ? !!(await until(() => n.scrollHeight > height + 1, ms)) : false; };
	// A drop is watched at its goal.
	const watchDrop = (id) => {
		const h = held.get(id);
		if (!h) return;
		h.drop = { over: false, drop: false, taken: false };
		const on = (e) => {
			if (!reaches(e.composedPath()[0], h.el) && !inside(e.composedPath()[0], h.el)) return;
			if (e.type === 'drop') h.drop.drop = true; else { h.drop.over = true; setTimeout(() => { if (e.defaultPrevented) h.drop.taken = true; }, 0); }
			wake(h);
		};
		for (const t of ['dragenter', 'dragover', 'drop']) window.addEventListener(t, on, true);
		h.undrop = () => { for (const t of ['dragenter', 'dragover', 'drop']) window.removeEventListener(t, on, true); };
	};
	const wasDropped = async (id, ms) => { const h = held.get(id); if (!h || !h.drop) return {}; await waitFor(h, (h) => h.drop.drop, ms); h.undrop(); return h.drop; };
	const wentFrom = (id, x, y) => { const el = get(id); const b = el && find.box(el); return !b || x < b.left || x > b.right || y < b.top || y > b.bottom; };

	// where gives the middle of an element, for the mouse to go to without being watched.
	const middle = (id) => { const el = get(id); const b = el && find.box(el); return b ? { x: b.left + b.width / 2, y: b.top + b.height / 2 } : null; };

	// state says whether something is there, for waits.
	const state = (q) => { const c = choose(q); return { visible: !!c.el, total: c.total || 0 }; };

	return Object.freeze({
		visible, hold, get, drop, locate, every, describe, retarget, aim, arm, disarm, pressed, released, moves, through, focus, selectAll, caretToEnd, read, readSoon, put, valueOf, colour, locale, sliderNow, checked: (id) => checked(get(id)),
		setOptions, selectedIs, options: (id) => optionsOf(get(id)).map((o) => o.label).slice(0, 60), mark, choice, chosen, scroller, scrollBy, scrollEnd, settled, intoView, rows, grows, watchDrop, wasDropped, wentFrom, middle, state, until,
		inside: (id, outer) => inside(get(id), get(outer)), hasFocus: (id) => !!get(id) && focused(get(id)), brief: (id) => brief(get(id)), active: () => { const a = active(); return a && a !== document.body ? { id: hold(a), ...describe(hold(a)) } : { id: 0, kind: 'none' }; },
		shownOnce, frame, hitAt: (x, y) => brief(hitAt(x, y)),
	});
}
