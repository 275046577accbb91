// What all fixed scripts share. It runs in a world of ours; the page sees neither it nor what it finds.
() => {
  // Field names of logins, codes and payment, joined or apart, in the languages login forms are seen in.
  const words = new RegExp([
    'pass(?:word|wort|phrase|code|wd)?', 'pwd', 'secret', 'token', 'otp', 'one.?time', 'totp', '2fa', 'mfa', 'tan', 'cvv', 'cvc', 'csc', 'pin', 'auth(?:entication|enticity|orization|.?code)?',
    'csrf', 'xsrf', 'api.?key', 'private.?key', 'security.?(?:code|answer)', 'verification.?code', 'card.?(?:number|holder|no)', 'cc.?(?:number|num|csc|exp)', 'iban', 'ssn',
    'kennwort', 'geheim(?:nis|wort)?', 'mot.?de.?passe', 'contraseñ?n?a', 'clave', 'senha', 'wachtwoord', 'hasło', 'haslo', 'пароль', '密码', '密碼', 'パスワード', '비밀번호',
  ].map(w => '(?:^|[^\\p{L}])' + w + '(?:$|[^\\p{L}])').join('|'), 'iu');
  const split = s => (s || '').replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2').replace(/_/g, ' ');
  const says = s => words.test(split(s));
  const named = ['name', 'id', 'autocomplete', 'placeholder', 'aria-label', 'title', 'data-testid'];

  // sensitive: a credential's, a card's or a token's field, whatever it calls itself in one of its names.
  const sensitive = el => {
    const type = (el.type || '').toLowerCase();
    if (type === 'password' || type === 'file' || type === 'hidden') return true;
    if (el.hasAttribute('data-sensitive')) return true;
    if (/(?:current|new)-password|one-time-code|cc-|webauthn/i.test(el.getAttribute('autocomplete') || '')) return true;
    const style = getComputedStyle(el);
    if (style.webkitTextSecurity && style.webkitTextSecurity !== 'none') return true;
    if (named.some(n => says(el.getAttribute(n)))) return true;
    return [...(el.labels || [])].some(l => says(l.textContent));
  };

  const hiddenBy = el => el.closest && el.closest('[aria-hidden="true"], [hidden], [inert]');
  // visible: a person could see it, by scrolling at most.
  const visible = el => {
    if (!el.isConnected || hiddenBy(el)) return false;
    if (!el.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false })) return false;
    const style = getComputedStyle(el);
    if (parseFloat(style.fontSize) < 4) return false;
    if (style.display === 'contents') return true;
    const r = el.getBoundingClientRect();
    if (r.right + scrollX <= 0 || r.bottom + scrollY <= 0) return false;
    return r.width > 0 && r.height > 0 || style.overflow === 'visible' && [...el.children].some(visible);
  };
  const shown = el => visible(el) && el.getBoundingClientRect().width > 0 && el.getBoundingClientRect().height > 0;

  // one finds the one element a selector names, or says why there is none to work.
  const one = selector => {
    let all;
    try { all = document.querySelectorAll(selector); } catch { return { no: 'selector' }; }
    if (all.length === 0) return { no: 'none' };
    if (all.length > 1) return { no: 'many' };
    const el = all[0];
    if (!shown(el)) return { no: 'hidden' };
    if (sensitive(el)) return { no: 'sensitive' };
    if (el.disabled || el.closest('fieldset[disabled]') || el.getAttribute('aria-disabled') === 'true') return { no: 'disabled' };
    el.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const r = el.getBoundingClientRect();
    const top = document.elementFromPoint(Math.min(innerWidth - 1, Math.max(0, r.left + r.width / 2)), Math.min(innerHeight - 1, Math.max(0, r.top + r.height / 2)));
    if (!top || !(top === el || el.contains(top) || [...(el.labels || [])].some(l => l.contains(top)))) return { no: 'covered' };
    return { el };
  };

  // path is a selector of the permitted kind that names el alone.
  const path = el => {
    if (/^[A-Za-z][\w-]{0,63}$/.test(el.id) && document.querySelectorAll('#' + el.id).length === 1) return '#' + el.id;
    const parts = [];
    for (let e = el; e && e.nodeType === 1; e = e.parentElement) {
      const tag = e.localName;
      if (!/^[a-z][a-z0-9-]*$/.test(tag)) return '';
      if (!e.parentElement) { parts.unshift(tag); break; }
      const same = [...e.parentElement.children].filter(c => c.localName === tag);
      parts.unshift(same.length > 1 ? tag + ':nth-of-type(' + (same.indexOf(e) + 1) + ')' : tag);
    }
    return parts.join('>');
  };

  // roots are the document and every open shadow root in it.
  const roots = () => {
    const out = [document];
    for (let i = 0; i < out.length; i++) for (const el of out[i].querySelectorAll('*')) if (el.shadowRoot) out.push(el.shadowRoot);
    return out;
  };
  return { sensitive, visible, shown, one, path, roots, says };
}
