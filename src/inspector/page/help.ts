/** The help view: keys and signs. */
import { Mark } from './pieces.ts';
import { html, useEffect, useRef, type VNode } from './vendor.ts';

const keys = [
  ['/', 'search all actors'],
  ['o', 'overview'],
  ['↑ ↓ Enter', 'in a list: choose and open'],
  ['← →', 'on an actor: one step back or forward in time'],
  ['l', 'on an actor: back to live'],
  ['f', 'on an actor: the whole chart, or the active state'],
  ['← → ↑ ↓ + −', 'in the chart, after Tab led there: move and zoom'],
  ['s', 'on an actor: send an event'],
  ['?', 'this help'],
  ['Esc', 'close, or leave the field'],
] as const;

export function Help({ onClose }: { onClose: () => void }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return html`<dialog ref=${dialog} class="help" aria-labelledby="help-title" onClose=${onClose}>
    <h2 id="help-title">Keys and signs</h2>
    <dl>${keys.map(([key, what]) => html`<div><dt>${key.split(' ').map((one) => html`<kbd>${one}</kbd>`)}</dt><dd>${what}</dd></div>`)}</dl>
    <ul class="signs">
      <li><${Mark} health="wrong" /> somebody should look: an attempt failed, or something that is needed is missing</li>
      <li><${Mark} health="wrong" parked=${true} /> parked: the chart failed or its record is of another release; it takes no events</li>
      <li><${Mark} health="waiting" /> in work: it waits for something and says for what</li>
      <li><${Mark} health="ok" /> settled: nothing is left to do</li>
    </ul>
    <form method="dialog"><button class="primary" autofocus>Close</button></form>
  </dialog>`;
}
