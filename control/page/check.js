(arg, kit) => {
  const { el, no } = kit.one(arg.selector);
  if (no) return { no };
  if (el.tagName !== 'INPUT' || el.type !== 'checkbox') return { no: 'kind' };
  if (el.checked !== arg.checked) el.click();
  return el.isConnected && el.checked === arg.checked ? { done: true } : { no: 'kept' };
}
