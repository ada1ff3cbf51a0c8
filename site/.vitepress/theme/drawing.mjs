/** The inspector's own drawing of a statechart, with its own styles, which hold inside of a chart's figure alone. */
import drawingStyle from '../../../src/inspector/page/actor.css?raw';
import pageStyle from '../../../src/inspector/page/base.css?raw';
import { ChartDefinitions, ChartDrawing } from '../../../src/inspector/page/chart/chart-view.ts';
import { html, render } from '../../../src/inspector/page/vendor.ts';

const layouts = import.meta.glob('../../../src/inspector/page/charts/*.json', { import: 'default' });
const [, colours = ''] = /:root \{([^}]*)\}/.exec(pageStyle) ?? [];
/** No state is active, and none was. */
const moment = { state: '', taken: new Set(), turn: 0, timers: [], now: 0 };
let isStyled = false;

/** @param {Element} view @param {string} name of the chart @returns {Promise<number>} its width, in pixels */
export async function draw(view, name) {
  if (!isStyled) {
    const style = document.createElement('style');
    style.textContent = `figure.chart { ${colours.replace(/color-scheme:[^;]*;/, '')} ${drawingStyle} }`;
    document.head.append(style);
    isStyled = true;
  }
  const layout = await layouts[`../../../src/inspector/page/charts/${name}.json`]();
  const { width, height } = layout;
  render(
    html`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Statechart of ${name}">
      <${ChartDefinitions} /><${ChartDrawing} layout=${layout} moment=${moment} /></svg>`,
    view,
  );
  return width;
}
