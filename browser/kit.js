// The kit lives in our isolated world of every document, from its first moment on: the page can neither see nor replace
// it. It remembers which fields were ever for passwords, knows when the page is quiet, and looks a document over.
(marker) => {
	if (Object.hasOwn(globalThis, marker)) return;

	// Roots are the document and every open shadow root in it; found ones are kept, weakly.
	const MAX_ROOTS = 5000;
	const known = new WeakSet(), roots = [];
	const secrets = new WeakSet(), secretList = [];
	const keep = (el) => {
		if (secrets.has(el)) return;
		secrets.add(el);
		secretList.push(new WeakRef(el));
	};
	// What says of a field that it holds a credential even though it was never a password field.
	const credential = /(^|[\s_\-])(current-password|new-password|one-time-code|cc-csc)($|[\s_\-])/i;
	const check = (el) => {
		if (el.type === 'password' || (el.autocomplete && credential.test(el.autocomplete))) keep(el);
	};

	let lastChange = performance.now(), changes = 0;
	// Old values are asked for: a field that was for passwords for one turn of the page's script only is one as well.
	const enter = (root) => {
		if (known.has(root) || roots.length >= MAX_ROOTS) return;
		known.add(root);
		roots.push(new WeakRef(root));
		observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: true, attributeOldValue: true });
		scan(root);
	};
	const scan = (root) => {
		for (const el of root.querySelectorAll('input')) check(el);
		// Only elements that may have a shadow root are asked for it: custom ones and a few others.
		const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
		for (let el = walker.currentNode; el; el = walker.nextNode()) if (el.shadowRoot) enter(el.shadowRoot);
	};
	const observer = new MutationObserver((records) => {
		lastChange = performance.now();
		changes += records.length;
		for (const r of records) {
			if (r.type === 'attributes') {
				if (r.attributeName === 'type' || r.attributeName === 'autocomplete') { if (r.target.localName === 'input') { if (r.attributeName === 'type' && r.oldValue === 'password') keep(r.target); check(r.target); } }
			} else if (r.type === 'childList') {
				for (const n of r.addedNodes) {
					if (n.nodeType !== 1) continue;
					if (n.localName === 'input') check(n);
					if (n.shadowRoot) enter(n.shadowRoot);
					if (n.firstElementChild) scan(n);
				}
			}
		}
	});
	enter(document);

	// Closed shadow roots are given to us by the browser, since no script can ask for them. From then on they are roots like
	// the others.
	const closed = new WeakMap(), asked = new WeakSet();
	const HOSTS = 'article, aside, blockquote, body, div, footer, h1, h2, h3, h4, h5, h6, header, main, nav, p, section, span';
	// suspects are elements that may have a closed root: custom elements, and boxes that show something though they hold
	// nothing that could.
	const suspects = (max) => {
		const found = [], until = performance.now() + 200;
		let n = 0;
		for (const r of roots) {
			const root = r.deref();
			if (!root) continue;
			for (const el of root.querySelectorAll('*')) {
				if ((++n & 511) === 0 && performance.now() > until) return found;
				if (el.shadowRoot || closed.has(el)) continue;
				const custom = el.localName.includes('-');
				if (!custom && (el.firstElementChild ? asked.has(el) || el.firstElementChild.checkVisibility() : el.firstChild && el.firstChild.nodeType === 3 || !el.matches(HOSTS))) continue;
				if (!custom && !(el.offsetHeight > 4 && el.offsetWidth > 4 && el.matches(HOSTS))) continue;
				if (asked.has(el) && !custom) continue;
				asked.add(el);
				found.push(el);
				if (found.length >= max) return found;
			}
		}
		return found;
	};

	const frame = () => new Promise((done) => { const t = setTimeout(done, 50); requestAnimationFrame(() => { clearTimeout(t); done(); }); });

	const kit = Object.freeze({
		// shadow is an element's shadow root, open or closed.
		shadow: (el) => { const r = el.shadowRoot || closed.get(el) || null; if (r && !known.has(r)) enter(r); return r; },
		suspects,
		adopt: (root) => { if (root && root.host) { closed.set(root.host, root); enter(root); } },
		// quiet waits until the page has drawn what it was told and changed nothing for calm milliseconds, at most max.
		quiet: async ({ calm, max }) => {
			const until = performance.now() + max;
			await frame();
			while (performance.now() < until) {
				const since = performance.now() - lastChange;
				if (since >= calm) break;
				await new Promise((done) => setTimeout(done, Math.max(1, Math.min(calm - since, until - performance.now()))));
			}
			return changes;
		},
		changes: () => changes,
		// secrets are the fields that were ever for passwords and still stand in the document.
		secrets: () => secretList.map((r) => r.deref()).filter((el) => el && el.isConnected),
		secretCount: () => { let n = 0; for (const r of secretList) { const el = r.deref(); if (el && el.isConnected) n++; } return n; },
		secret: (el) => { if (el && el.localName === 'input') check(el); return secrets.has(el); },
		// veil draws dots over secret fields that would show what is in them, for a picture.
		veil: (on) => {
			let n = 0;
			for (const r of secretList) {
				const el = r.deref();
				if (!el || !el.isConnected) continue;
				if (on && el.type !== 'password') { el.style.setProperty('-webkit-text-security', 'disc', 'important'); n++; } else if (!on && el.style.getPropertyValue('-webkit-text-security')) { el.style.removeProperty('-webkit-text-security'); if (!el.getAttribute('style')) el.removeAttribute('style'); }
			}
			return n;
		},
	});
	Object.defineProperty(globalThis, marker, { value: kit });
}
