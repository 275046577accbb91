(arg, kit) => {
  const { el, no } = kit.one(arg.selector);
  if (no) return { no };
  if (['INPUT', 'SELECT', 'TEXTAREA', 'OPTION'].includes(el.tagName) && !['submit', 'button', 'reset', 'image', 'checkbox', 'radio'].includes(el.type)) {
    el.focus();
    return { done: true };
  }
  const at = el.getBoundingClientRect();
  const where = { bubbles: true, cancelable: true, composed: true, view: window, clientX: at.left + at.width / 2, clientY: at.top + at.height / 2 };
  el.dispatchEvent(new PointerEvent('pointerdown', where));
  el.dispatchEvent(new MouseEvent('mousedown', where));
  if (el.focus) el.focus();
  el.dispatchEvent(new PointerEvent('pointerup', where));
  el.dispatchEvent(new MouseEvent('mouseup', where));
  el.click();
  return { done: true };
}
