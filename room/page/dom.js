// dom.js: small helpers to build elements. Text from others only ever becomes text.

export const $ = id => document.getElementById(id);

// el makes an element with properties, data attributes (under "data") and children.
export function el(name, properties = {}, ...children) {
  const { data = {}, ...rest } = properties;
  const e = document.createElement(name);
  Object.assign(e, rest);
  for (const [key, value] of Object.entries(data)) e.dataset[key] = value;
  e.append(...children);
  return e;
}

// icon makes one of the page's pictures.
export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  use.setAttribute('href', '#i-' + name);
  svg.append(use);
  return svg;
}

export function setIcon(button, name) {
  button.querySelector('use').setAttribute('href', '#i-' + name);
}

// set writes a data attribute when it differs, so that observers hear of changes alone.
export function set(e, key, value) {
  const text = String(value);
  if (e.dataset[key] !== text) e.dataset[key] = text;
}
