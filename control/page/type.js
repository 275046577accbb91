// Puts text into a field by input and change events. No key is struck, so nothing that listens for Enter hears one.
(arg, kit) => {
  const { el, no } = kit.one(arg.selector);
  if (no) return { no };
  const texts = ['text', 'search', 'url', 'tel', 'email', 'number', 'date', 'time', 'month', 'week', 'datetime-local', 'color', 'range'];
  const field = el.tagName === 'TEXTAREA' || el.tagName === 'INPUT' && texts.includes(el.type);
  if (!field && !el.isContentEditable) return { no: 'kind' };
  if (el.readOnly) return { no: 'disabled' };
  el.focus();
  if (field) {
    const proto = el.tagName === 'TEXTAREA' ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype;
    Object.getOwnPropertyDescriptor(proto, 'value').set.call(el, arg.text);
  } else el.textContent = arg.text;
  el.dispatchEvent(new InputEvent('input', { bubbles: true, composed: true, inputType: 'insertText', data: arg.text }));
  el.dispatchEvent(new Event('change', { bubbles: true }));
  return { done: true };
}
