// Which of the approved login forms are on the page. It reads no value.
(arg, kit) => {
  const out = [];
  arg.forms.forEach((f, index) => {
    const fits = [...document.forms].filter(form => {
      if (form.action !== f.action || form.method !== 'post' || form.enctype !== 'application/x-www-form-urlencoded') return false;
      if (form.target && form.target !== '_self') return false;
      const fields = [...form.elements];
      if (fields.some(e => e.hasAttribute('formaction') || e.hasAttribute('formmethod') || e.hasAttribute('formenctype') || e.hasAttribute('formtarget'))) return false;
      const user = fields.filter(e => e.name === f.user), pass = fields.filter(e => e.name === f.pass);
      return user.length === 1 && pass.length === 1 && ['text', 'email', 'tel'].includes(user[0].type) && pass[0].type === 'password' &&
        [user[0], pass[0]].every(e => kit.shown(e) && !e.disabled && !e.readOnly);
    });
    if (fits.length === 1) out.push(index);
  });
  return { forms: out, url: location.href };
}
