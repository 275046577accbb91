// Counts what must not be on a picture, and every change between two looks. The state stays in our world.
(arg, kit) => {
  const name = '__parleyWatch';
  const count = () => {
    let sensitive = 0;
    for (const root of kit.roots()) for (const el of root.querySelectorAll('input, textarea, select, [data-sensitive], [contenteditable]')) if (kit.sensitive(el) && !(el.type === 'hidden' && !kit.says(el.name) && !kit.says(el.id))) sensitive++;
    return sensitive;
  };
  const seen = () => {
    const w = globalThis[name];
    for (const root of kit.roots()) if (!w.roots.has(root)) {
      w.roots.add(root);
      w.revision++;
      w.observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
    }
  };
  if (arg.begin) {
    if (globalThis[name]) globalThis[name].observer.disconnect();
    const w = { revision: 0, roots: new Set() };
    w.observer = new MutationObserver(records => { w.revision += records.length; });
    globalThis[name] = w;
    seen();
    w.observer.takeRecords();
    w.revision = 0;
  } else if (!globalThis[name]) return { no: 'begin' };
  const w = globalThis[name];
  seen();
  w.revision += w.observer.takeRecords().length;
  const out = { sensitive: count(), revision: w.revision, width: innerWidth, height: innerHeight, url: location.href, media: [...document.querySelectorAll('video, audio')].filter(m => !m.paused).length };
  if (arg.end) { w.observer.disconnect(); delete globalThis[name]; }
  return out;
}
