// SPDX-License-Identifier: Apache-2.0
// picture.js - a screenshot with the points of an action drawn where they are.
import { h, s, dialog } from './dom.js';
import { ask } from './api.js';

const mark = {
  click: (m, r) => [s('circle', { cx: m.x, cy: m.y, r: r * 1.6, class: 'halo' }), s('circle', { cx: m.x, cy: m.y, r: r * 0.45, class: 'point' })],
  move: (m, r) => [s('circle', { cx: m.x, cy: m.y, r, class: 'halo thin' })],
  scroll: (m, r) => [s('circle', { cx: m.x, cy: m.y, r: r * 1.6, class: 'halo' }), s('path', { d: `M${m.x} ${m.y - r}V${m.y + r}`, class: 'line' })],
  drag: (m, r) => [s('polyline', { points: m.path.map((p) => `${p.x},${p.y}`).join(' '), class: 'line' }),
    s('circle', { cx: m.path[0].x, cy: m.path[0].y, r: r * 0.6, class: 'point' }), s('circle', { cx: m.path.at(-1).x, cy: m.path.at(-1).y, r: r * 1.3, class: 'halo' })],
  region: (m) => [s('rect', { x: m.region[0], y: m.region[1], width: m.region[2], height: m.region[3], class: 'line' })],
};

/** The points over a picture; `screen`: the size that they count in. */
export function overlay(marks, screen) {
  const r = Math.max(9, screen.width / 90);
  const several = marks.length > 1;
  return s('svg', { class: 'marks', viewBox: `0 0 ${screen.width} ${screen.height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    marks.map((m, i) => s('g', { class: `mark ${m.kind}` }, mark[m.kind](m, r),
      several && m.x !== undefined ? s('text', { x: m.x + r * 1.7, y: m.y - r, 'font-size': r * 1.7 }, String(i + 1)) : null)));
}

function wholeImage(url, alt, width, height, failed) {
  const img = h('img', { src: url, alt, width, height, decoding: 'async', draggable: 'false' });
  img.addEventListener('error', failed);
  return img;
}

/**
 * A picture made as small as it is shown.  Of an img the browser holds all pixels decoded, 4 MB for each screen, long after it is
 * gone from the page: half a gigabyte in a session that looks often.
 */
function smallImage(url, alt, width, height, failed, shown) {
  const part = Math.min(1, (shown * devicePixelRatio) / width);
  const size = { width: Math.round(width * part), height: Math.round(height * part) };
  const canvas = h('canvas', { ...size, ...(alt ? { role: 'img', 'aria-label': alt } : { 'aria-hidden': 'true' }) });
  (async () => {
    const bytes = await (await ask(url, { cache: 'default' })).blob();
    const bitmap = await createImageBitmap(bytes, { resizeWidth: size.width, resizeHeight: size.height, resizeQuality: 'medium' });
    canvas.getContext('bitmaprenderer').transferFromImageBitmap(bitmap);
    canvas.dataset.drawn = '';
  })().catch(failed);
  return canvas;
}

/** {hash, width, height} as a figure; `shown`: so many pixels wide at most, where it stands among many. */
export function picture(source, shot, { marks = [], screen, alt = 'Screenshot', large = false, shown = 0 } = {}) {
  const url = source.picture(shot.hash);
  const size = screen ?? { width: shot.width || 1024, height: shot.height || 640 };
  const missing = h('span', { class: 'missing muted' }, url ? '' : 'This picture is not here.');
  const make = shown && source.live && url ? smallImage : wholeImage;
  const img = make(url, alt, shot.width || size.width, shot.height || size.height, () => { missing.textContent = 'This picture cannot be read.'; }, shown);
  return h('figure', { class: large ? 'shot large' : 'shot' }, img, marks.length ? overlay(marks, size) : null, missing);
}

/** The same in full size, over the page. */
export function openPicture(source, shot, options) {
  dialog(options?.alt ?? 'Screenshot', () => picture(source, shot, { ...options, large: true })).classList.add('wide');
}
