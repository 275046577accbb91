// The words a person sees: nothing of forms, of what is hidden, of scripts, of attributes.
(arg, kit) => {
  const skip = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'INPUT', 'TEXTAREA', 'SELECT', 'OPTION', 'OPTGROUP', 'DATALIST', 'OUTPUT', 'IFRAME', 'FRAME', 'OBJECT', 'EMBED', 'CANVAS', 'SVG', 'AUDIO', 'VIDEO', 'HEAD', 'METER', 'PROGRESS']);
  const block = new Set(['P', 'DIV', 'SECTION', 'ARTICLE', 'LI', 'UL', 'OL', 'TR', 'TABLE', 'H1', 'H2', 'H3', 'H4', 'H5', 'H6', 'BR', 'HR', 'HEADER', 'FOOTER', 'MAIN', 'NAV', 'FORM', 'PRE', 'BLOCKQUOTE', 'DL', 'DT', 'DD']);
  let text = '', count = 0, cut = false, complete = true;
  const put = s => {
    for (const c of s) {
      if (count === arg.max) { cut = true; return; }
      text += c;
      count++;
    }
  };
  const visit = (node, depth) => {
    if (cut) return;
    if (depth > 400) { complete = false; return; }
    if (node.nodeType === 3) {
      let s = node.data.replace(/\s+/gu, ' ');
      if (text === '' || /\s$/u.test(text)) s = s.replace(/^ /, '');
      if (s) put(s);
      return;
    }
    if (node.nodeType !== 1) return;
    if (skip.has(node.tagName.toUpperCase()) || node.isContentEditable || node.getAttribute('role') === 'textbox') return;
    if (node.hasAttribute('data-sensitive') || !kit.visible(node)) return;
    const line = block.has(node.tagName) && text !== '' && !text.endsWith('\n');
    if (line) { text = text.replace(/ $/, ''); count = [...text].length; put('\n'); }
    const inside = node.shadowRoot ? node.shadowRoot.childNodes : node.tagName === 'SLOT' && node.assignedNodes().length ? node.assignedNodes() : node.childNodes;
    for (const child of inside) visit(child, depth + 1);
    if (block.has(node.tagName) && text !== '' && !text.endsWith('\n')) { text = text.replace(/ $/, ''); count = [...text].length; put('\n'); }
  };
  if (document.body) visit(document.body, 0);
  return { text: text.replace(/\s+$/u, ''), cut, complete, url: location.href };
}
