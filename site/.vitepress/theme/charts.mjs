/**
 * The statechart of a page, drawn as in the inspector: as wide as the column, but never so small that it cannot
 * be read. Buttons and the keys + and - zoom; a chart that is larger than its frame is scrolled or dragged;
 * "Full screen" gives it the whole window.
 */

/** Smaller, the words in a chart are no longer legible; larger than drawn, it only wastes room. */
const [readableMin, naturalSize] = [0.9, 1];
const [zoomMin, zoomMax] = [0.1, 3];
const zoomStep = 1.25;

export async function showCharts() {
  for (const figure of document.querySelectorAll('figure.chart:not(.drawn)')) {
    figure.classList.add('drawn');
    const { draw } = await import('./drawing.mjs');
    frame(figure, await draw(figure.querySelector('.view'), figure.dataset.chart));
  }
}

/** @param {HTMLElement} figure @param {number} width of the drawing, in pixels */
function frame(figure, width) {
  const view = figure.querySelector('.view');
  let zoom = naturalSize;
  const show = (/** @type {number} */ wanted) => {
    zoom = Math.min(zoomMax, Math.max(zoomMin, wanted));
    view.firstElementChild.style.width = `${Math.round(width * zoom)}px`;
  };
  const fitting = () => view.clientWidth / width;
  const legible = () => show(Math.min(naturalSize, Math.max(readableMin, fitting())));
  const actions = {
    in: () => show(zoom * zoomStep),
    out: () => show(zoom / zoomStep),
    fit: () => show(fitting()),
    full: () => (document.fullscreenElement ? document.exitFullscreen() : figure.requestFullscreen()),
  };
  figure.onclick = ({ target }) => actions[target.dataset.does]?.();
  figure.onkeydown = ({ key }) => ({ '+': actions.in, '-': actions.out })[key]?.();
  figure.onfullscreenchange = () => (document.fullscreenElement ? actions.fit() : legible());
  view.onpointerdown = drag;
  legible();
}

/** Moves what is shown with the mouse; a finger scrolls by itself. @param {PointerEvent} event */
function drag({ currentTarget: view, pointerId, pointerType, button, clientX, clientY }) {
  if (pointerType !== 'mouse' || button !== 0) return;
  const [left, top] = [view.scrollLeft, view.scrollTop];
  view.setPointerCapture(pointerId);
  view.onpointermove = (event) =>
    view.scrollTo(left + clientX - event.clientX, top + clientY - event.clientY);
  view.onlostpointercapture = () => {
    view.onpointermove = null;
  };
}
