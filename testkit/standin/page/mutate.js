// mutate.js: changes a page's tree by a seed, the same way each time it is drawn.

// hash makes a number between 0 and 1 of a text.
function hash(text) {
  let x = 2166136261;
  for (let i = 0; i < text.length; i++) x = Math.imul(x ^ text.charCodeAt(i), 16777619);
  x ^= x >>> 15;
  x = Math.imul(x, 2246822519);
  x ^= x >>> 13;
  x = Math.imul(x, 3266489917);
  x ^= x >>> 16;
  return (x >>> 0) / 4294967296;
}

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

export function mutator(m = {}) {
  const chance = what => hash(m.seed + ' ' + what);
  const renamed = name => {
    if (chance('class ' + name) * 100 >= (m.classes ?? 0)) return name;
    let out = 'x';
    for (let i = 0; i < 6; i++) out += letters[Math.floor(chance(`letter ${i} ${name}`) * letters.length)];
    return out;
  };

  // node changes an element and gives what stands in its place: null, it, or another around it.
  const node = (v, path) => {
    if (typeof v !== 'object') return v;
    const attrs = { ...v.attrs };
    if (m.drop && attrs.sign === m.drop) return null;
    let kids = v.kids;
    const lost = m.drop && attrs.drop?.[m.drop];
    if (lost === 'text') kids = kids.filter(k => typeof k === 'object');
    else if (lost) delete attrs[lost];
    if (attrs.class) attrs.class = attrs.class.split(' ').map(renamed).join(' ');
    let tag = v.tag;
    if (m.move_texts && attrs.words) {
      if (/^h[1-6]$/.test(tag) && chance('tag ' + path) < 0.5) tag = 'div';
      // In pieces: the words are there, but no one element's own text has them all.
      if (kids.length === 1 && typeof kids[0] !== 'object' && chance('pieces ' + path) < 0.5) {
        const at = kids[0].indexOf(' ', Math.floor(kids[0].length / 3));
        if (at > 0) kids = [{ tag: 'span', attrs: {}, kids: [kids[0].slice(0, at)] }, ' ', { tag: 'span', attrs: {}, kids: [kids[0].slice(at + 1)] }];
      }
    }
    kids = many(kids, path, attrs.shuffle);
    const out = { tag, attrs, kids };
    const inline = ['span', 'i', 'b', 'svg', 'path', 'option', 'li', 'audio', 'video', 'iframe', 'body'].includes(tag) || attrs.css === 'layer';
    if (!inline && chance('wrap ' + path) * 100 < (m.wrap ?? 0)) {
      return { tag: 'div', attrs: { css: 'wrap', key: attrs.key === undefined ? undefined : 'w' + attrs.key }, kids: [out] };
    }
    return out;
  };

  const many = (kids, path, shuffle) => {
    const named = kids.map((k, i) => [k, `${path}/${typeof k === 'object' ? k.attrs.key ?? k.attrs.sign ?? k.tag + i : '#' + i}`]);
    let out = named.map(([k, p]) => [node(k, p), p]).filter(([k]) => k !== null);
    if (shuffle && m.shuffle) out = out.map(x => [x, chance('order ' + x[1])]).sort((a, b) => a[1] - b[1]).map(x => x[0]);
    return out.map(x => x[0]);
  };

  return {
    dialogMS: m.dialog_ms ?? 0,
    buttonMS: m.button_ms ?? 0,
    shadow: !!m.shadow,
    wording: (key, n) => m.wordings ? Math.floor(chance('wording ' + key) * n) : 0,
    chance,
    tree: v => node(v, ''),
  };
}
