// The controls a person could work, without what they must not tell.
(arg, kit) => {
  const clean = (s, n) => (s || '').replace(/\s+/gu, ' ').trim().slice(0, n);
  const label = el => clean(el.getAttribute('aria-label') || [...(el.labels || [])].map(l => l.textContent).join(' ') || el.getAttribute('placeholder') || (el.tagName === 'INPUT' || el.tagName === 'SELECT' || el.tagName === 'TEXTAREA' ? el.name : el.innerText) || el.title, 120);
  const controls = [];
  let complete = true;
  for (const el of document.querySelectorAll('a[href], button, input, select, textarea, [role="button"], [role="link"], [role="checkbox"], [role="tab"], [role="menuitem"]')) {
    if (!kit.shown(el) || kit.sensitive(el)) continue;
    if (controls.length === arg.max) { complete = false; break; }
    const selector = kit.path(el);
    if (!selector) continue;
    const type = el.tagName === 'INPUT' ? el.type : '';
    const c = { selector, tag: el.localName, type, label: label(el), disabled: !!el.disabled };
    if (type === 'checkbox' || type === 'radio') c.checked = el.checked;
    else if (el.tagName === 'INPUT' && !['submit', 'button', 'reset', 'image'].includes(type) || el.tagName === 'TEXTAREA') c.value = el.value.length <= 128 ? el.value : undefined;
    if (el.tagName === 'SELECT' && !el.multiple) {
      c.options = [];
      for (const o of el.options) {
        const group = o.closest('optgroup');
        if (o.hidden || o.disabled || group && (group.hidden || group.disabled || kit.says(group.label)) || kit.says(o.label) || kit.says(o.value)) continue;
        if (o.value.length > 128 || o.label.length > 128) continue;
        if (c.options.length === arg.options) break;
        c.options.push({ value: o.value, label: clean(o.label, 128), selected: o.selected });
      }
    }
    controls.push(c);
  }
  return { controls, complete, url: location.href };
}
