/** The chart's words about the actor: reason and facts, shown first; and details. */
import { nextOf, shownSecond } from '../../../base/words.ts';
import { Age, healthWords, Mark, Until } from '../pieces.ts';
import { html, type VNode } from '../vendor.ts';
import { detailsText, factLines, type Standing } from './told.ts';

/** Why the actor stands as it does, since when, what happens next, and its facts. */
export function ReasonCard({ actor, now }: { actor: Standing; now: number }): VNode {
  const { text, health, since } = actor.reason;
  const next = nextOf(actor);
  return html`<section class="card reason-card ${health}" aria-labelledby="h-reason">
    <h2 id="h-reason" class="sr-only">Reason</h2>
    <p class="reason"><${Mark} health=${health} parked=${actor.parked} /> <span>${text}</span></p>
    <p class="since"><b>${actor.parked ? 'parked' : healthWords[health]}</b>${since > 0 && html` for <${Age} since=${since} now=${now} />, since <time>${shownSecond(since, false)}</time>`}</p>
    <p class="then"><b>Next:</b> ${next.text}${next.at !== null && html`, <${Until} at=${next.at} now=${now} /> <span class="quiet">(${shownSecond(next.at, false)})</span>`}</p>
    <${Facts} actor=${actor} now=${now} />
  </section>`;
}

function Facts({ actor, now }: { actor: Standing; now: number }): VNode | null {
  const lines = factLines(actor, now);
  if (lines.length === 0) return null;
  return html`<dl class="facts" aria-label="Facts">
    ${lines.map(({ label, text, when }) => html`<div key=${label} class=${text.includes('\n') ? 'lines' : ''}><dt>${label}</dt><dd>${text}${when && html` <span class="quiet">(${when})</span>`}</dd></div>`)}
  </dl>`;
}

export function Details({ actor }: { actor: Standing }): VNode | null {
  const text = detailsText(actor);
  if (text === '') return null;
  return html`<section class="card details" aria-labelledby="h-details"><h2 id="h-details">Details</h2>
    <pre tabindex="0">${text}</pre></section>`;
}
