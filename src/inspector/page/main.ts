/** The start of the page: creates the store, draws the app, and redraws it after each change. */
import { systemClock } from '../../base/clock.ts';
import { App } from './app.ts';
import { Store } from './page-store.ts';
import { restoreTheme } from './theme.ts';
import { html, render } from './vendor.ts';

restoreTheme();
const store = new Store({
  clock: systemClock,
  address: `${location.origin.replace(/^http/, 'ws')}/api/v1/inspect`,
  beforeFrame: (draw) => requestAnimationFrame(draw),
});
const place = document.getElementById('app');
if (place) {
  place.textContent = '';
  render(html`<${App} store=${store} />`, place);
}
