/** What the chart tells of the actor: its reason, facts, details. */
import { Until } from '../pieces.ts';
import { html, type VNode } from '../vendor.ts';
import { detailsText, factLines, type Standing } from './told.ts';

export function Facts({ actor, now }: { actor: Standing; now: number }): VNode | null {
  const lines = factLines(actor, now);
  if (lines.length === 0) return null;
  return html`<section class="card facts" aria-labelledby="h-facts"><h2 id="h-facts">Facts</h2><dl>
    ${lines.map(({ label, text, title }) => html`<div key=${label}><dt>${label}</dt><dd title=${title}>${text}</dd></div>`)}
  </dl></section>`;
}

export function Details({ actor }: { actor: Standing }): VNode | null {
  const text = detailsText(actor);
  if (text === '') return null;
  return html`<section class="card details" aria-labelledby="h-details"><h2 id="h-details">Details</h2>
    <pre tabindex="0">${text}</pre></section>`;
}

/** One sentence, and what comes next by itself. */
export function ReasonLine({ actor, now }: { actor: Standing; now: number }): VNode | null {
  const { reason } = actor;
  if (reason === undefined) return null;
  const { text, health, next } = reason;
  return html`<p class="reason ${health}">${text}${next && html`; next: ${next.text}, <${Until} at=${next.at} now=${now} />`}</p>`;
}
