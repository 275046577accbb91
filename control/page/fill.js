(arg, kit) => {
  const fits = [...document.forms].filter(form => form.action === arg.action && form.method === 'post' && form.enctype === 'application/x-www-form-urlencoded' && (!form.target || form.target === '_self'));
  if (fits.length !== 1) return { no: 'form' };
  const fields = [...fits[0].elements];
  const user = fields.filter(e => e.name === arg.user), pass = fields.filter(e => e.name === arg.pass);
  if (user.length !== 1 || pass.length !== 1 || pass[0].type !== 'password' || !['text', 'email', 'tel'].includes(user[0].type)) return { no: 'form' };
  if (![user[0], pass[0]].every(e => kit.shown(e) && !e.disabled && !e.readOnly)) return { no: 'hidden' };
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  for (const [el, value] of [[user[0], arg.userValue], [pass[0], arg.passValue]]) {
    set.call(el, value);
    el.dispatchEvent(new InputEvent('input', { bubbles: true, composed: true, inputType: 'insertReplacementText' }));
    el.dispatchEvent(new Event('change', { bubbles: true }));
  }
  if (!user[0].isConnected || user[0].value !== arg.userValue || pass[0].value !== arg.passValue) return { no: 'kept' };
  return { done: true };
}
