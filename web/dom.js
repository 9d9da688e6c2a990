// SPDX-License-Identifier: Apache-2.0
// dom.js - elements made by calls.  Text is always a text node: nothing here, or anywhere in this page, reads markup.

const SVG = 'http://www.w3.org/2000/svg';

const listening = new WeakSet(); // elements that were made with listeners

function nodes(children, into = []) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) nodes(child, into);
    else into.push(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return into;
}

function add(to, children) {
  to.append(...nodes(children));
  return to;
}

function set(element, props) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) {
      element.addEventListener(name.slice(2), value);
      listening.add(element);
    } else element.setAttribute(name, value === true ? '' : String(value));
  }
  return element;
}

/** h('p', {class: 'x', onclick: f}, 'text', child, [more]) */
export function h(tag, props, ...children) {
  return add(set(document.createElement(tag), props), children);
}

/** The same for SVG. */
export function s(tag, props, ...children) {
  return add(set(document.createElementNS(SVG, tag), props), children);
}

/** Puts these in the place of what is in `element`. */
export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

/** Makes `is` look as `node` does; false: they are of different kinds, or one of them listens. */
function liken(is, node) {
  if (is.nodeName !== node.nodeName || listening.has(is) || listening.has(node)) return false;
  if (is.nodeType === Node.TEXT_NODE) {
    if (is.data !== node.data) is.data = node.data;
    return true;
  }
  for (const { name } of [...is.attributes]) if (!node.hasAttribute(name)) is.removeAttribute(name);
  for (const { name, value } of node.attributes) if (is.getAttribute(name) !== value) is.setAttribute(name, value);
  renew(is, ...node.childNodes);
  return true;
}

/**
 * As fill, for what is drawn again and again: an element that is there already stays and only what differs in it changes, so that neither
 * a press on it nor a selection in it is lost.  One with listeners stays only where it is the same object.
 */
export function renew(element, ...children) {
  const wanted = nodes(children);
  wanted.forEach((node, i) => {
    const is = element.childNodes[i];
    if (is === node) return;
    if (!is) element.append(node);
    else if (wanted.includes(is) || !liken(is, node)) is.replaceWith(node);
  });
  while (element.childNodes.length > wanted.length) element.lastChild.remove();
}

const icons = {
  play: 'M7 5v14l12-7z',
  pause: 'M7 5h3.5v14H7zM13.5 5H17v14h-3.5z',
  stop: 'M6.5 6.5h11v11h-11z',
  back: 'M15 5l-7 7 7 7',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.3 15.3 20 20',
  fork: 'M7 4v16M7 12h5a5 5 0 0 0 5-5V4',
  film: 'M4 5h16v14H4zM8 5v14M16 5v14M4 9.7h4M4 14.3h4M16 9.7h4M16 14.3h4',
  chart: 'M5 20V10M12 20V4M19 20v-7',
  list: 'M5 6h14M5 12h14M5 18h14',
  hand: 'M8 12V6a1.5 1.5 0 0 1 3 0v5m0-6.5a1.5 1.5 0 0 1 3 0V11m0-4.5a1.5 1.5 0 0 1 3 0V14a6 6 0 0 1-6 6c-3 0-4-1.5-6.5-5.5a1.4 1.4 0 0 1 2.3-1.5L8 14',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5',
  keys: 'M3 7h18v10H3zM7 10.5h.01M12 10.5h.01M17 10.5h.01M8 14h8',
  moon: 'M20 14.5A8 8 0 1 1 9.5 4a6.5 6.5 0 0 0 10.5 10.5z',
  close: 'M6 6l12 12M18 6 6 18',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  plus: 'M12 5v14M5 12h14',
  send: 'M4 12l16-8-5 16-3.5-6.5z',
  down: 'M12 5v14M6 13l6 6 6-6',
  code: 'M9 7l-5 5 5 5M15 7l5 5-5 5',
  screen: 'M4 5h16v11H4zM9 20h6M12 16v4',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  out: 'M14 4h6v16h-6M4 12h11M11 8l4 4-4 4',
  nodes: 'M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01',
  warn: 'M12 4 2.5 20h19zM12 10v5M12 17.5v.01',
};
const solid = new Set(['play', 'pause', 'stop']);

/** A picture beside a word; it says nothing to a screen reader. */
export function icon(name) {
  return s('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true', width: 18, height: 18 },
    s('path', solid.has(name) ? { d: icons[name], fill: 'currentColor' }
      : { d: icons[name], fill: 'none', stroke: 'currentColor', 'stroke-width': name === 'more' ? 3 : 1.8, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' }));
}

export function button(label, props, iconName) {
  return h('button', { type: 'button', ...props }, iconName ? icon(iconName) : null, h('span', { class: 'label' }, label));
}

/** A button with a picture only; its name is for those who hear it, and a tip. */
export function iconButton(name, label, props) {
  return h('button', { type: 'button', 'aria-label': label, title: label, ...props, class: `quiet ${props?.class ?? ''}` }, icon(name));
}

/** Says a sentence to a screen reader, and to nobody else. */
export function announce(text) {
  const region = document.getElementById('announcer');
  if (region) region.textContent = text;
}

let toastTimer = 0;

/** A sentence at the lower edge for some seconds. */
export function toast(text, bad = false) {
  let box = document.getElementById('toast');
  if (!box) {
    box = h('div', { id: 'toast', role: 'status' });
    document.body.append(box);
  }
  box.textContent = text;
  box.className = bad ? 'bad shown' : 'shown';
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { box.className = ''; box.textContent = ''; }, bad ? 9000 : 4500);
}

/** A modal dialog; `make(close)` gives its content. */
export function dialog(title, make) {
  const box = h('dialog', { 'aria-label': title });
  const close = () => { box.close(); box.remove(); };
  box.addEventListener('close', () => box.remove());
  add(box, [h('header', null, h('h2', null, title), iconButton('close', 'Close', { onclick: close })), make(close)]);
  document.body.append(box);
  box.showModal();
  return box;
}
