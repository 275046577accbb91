(arg, kit) => {
  const { el, no } = kit.one(arg.selector);
  if (no) return { no };
  if (el.tagName !== 'SELECT' || el.multiple) return { no: 'kind' };
  const fit = [...el.options].filter(o => o.value === arg.value);
  if (fit.length !== 1) return { no: 'option' };
  const o = fit[0], group = o.closest('optgroup');
  if (o.hidden || o.disabled || group && (group.hidden || group.disabled || kit.says(group.label)) || kit.says(o.label) || kit.says(o.value)) return { no: 'option' };
  if (el.value !== arg.value) {
    el.focus();
    Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value').set.call(el, arg.value);
    el.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    el.dispatchEvent(new Event('change', { bubbles: true }));
  }
  return el.isConnected && el.value === arg.value ? { done: true } : { no: 'kept' };
}
