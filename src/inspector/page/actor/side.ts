/**
 * The column beside the chart: the actor in words, its deadlines, pending effects, its correspondents, its
 * owner.
 */
import type { ActorId } from '../../../base/ids.ts';
import type { ActorView, HistoryStep, LiveRow } from '../../../base/views.ts';
import { change, effectList, eventName, idleText, senderOf } from '../../../base/words.ts';
import type { ChartLayout } from '../../charts/chart-layout.ts';
import { activePaths } from '../chart/drawings.ts';
import type { Store } from '../page-store.ts';
import { ActorLink, Age, Mark, Owner, StateName, Until } from '../pieces.ts';
import { html, type VNode } from '../vendor.ts';
import { absence } from './told.ts';

type Standing = Omit<ActorView, 'recent'>;

export function Explained({
  actor,
  step,
  layout,
  isLive,
  now,
  id,
}: {
  actor: Standing | null;
  step: HistoryStep | undefined;
  layout: ChartLayout | null;
  isLive: boolean;
  now: number;
  id: ActorId;
}): VNode {
  const state = isLive ? (actor?.state ?? step?.to) : step?.to;
  return html`<section class="card explained" aria-labelledby="h-explained">
    <h2 id="h-explained" class="sr-only">In words</h2>
    ${state && html`<p class="sentence"><b>${lastName(id)}</b> ${isLive ? (actor?.parked ? 'is parked in' : 'is in') : 'was in'} <b><${StateName} state=${state} /></b>${isLive && actor && html`, for <${Age} since=${actor.since} now=${now} />`}.</p>`}
    ${state && layout && html`<ul class="meaning">${meaningOf(layout, state).map(([path, text]) => html`<li key=${path}>${text}</li>`)}</ul>`}
    ${step && html`<p class="because"><${Because} step=${step} now=${now} /></p>`}
    ${actor?.lastError && isLive && html`<p class="problem"><b>Last error:</b> ${actor.lastError}</p>`}
    ${isLive && actor && html`<p class="waits">${waitsText(actor)}</p>`}
  </section>`;
}

function Because({ step, now }: { step: HistoryStep; now: number }): VNode {
  const sender = senderOf(step.cause);
  return html`<span class="event">${eventName(step.event.type)}</span> ${sender ? html`from <${ActorLink} id=${sender.id} at=${sender.rev} when=${step.at} /> ` : ''}
    ${step.from === step.to ? 'left it where it was' : html`led ${change(step).replace(/^began in/, 'to')}`}, <${Age} since=${step.at} now=${now} /> ago${step.effects.length > 0 ? html`, and asked for ${effectList(step.effects)}` : ''}.`;
}

function waitsText({ timers, accepts, parked }: Standing): string {
  if (timers.length + accepts.length === 0) return `It waits for ${idleText({ parked })}.`;
  if (accepts.length === 0) return 'It waits for a deadline, and takes no event from outside now.';
  const events = accepts.join(', ');
  return timers.length === 0 ? `It waits for ${events}.` : `It waits for a deadline, or for ${events}.`;
}

/** Descriptions of the active states, outermost first. */
function meaningOf(layout: ChartLayout, state: string): Array<[string, string]> {
  const active = activePaths(state);
  const found: Array<[string, string]> = [];
  const visit = (one: ChartLayout['chart']) => {
    if (one.path !== '' && active.has(one.path) && one.description !== '')
      found.push([one.path, one.description]);
    one.children.forEach(visit);
  };
  visit(layout.chart);
  return found;
}

/** Deadlines that count down, each with the elapsed part. */
export function Timers({
  actor,
  steps,
  now,
}: {
  actor: Standing;
  steps: readonly HistoryStep[];
  now: number;
}): VNode | null {
  if (actor.timers.length === 0) return null;
  const began = steps.at(-1)?.at ?? actor.since;
  return html`<section class="card timers" aria-labelledby="h-timers"><h2 id="h-timers">Deadlines</h2><ul>
    ${[...actor.timers]
      .sort((a, b) => a.at - b.at)
      .map(({ event, at }) => {
        const part = Math.min(1, Math.max(0, (now - began) / Math.max(1, at - began)));
        return html`<li key="${event}${at}"><svg viewBox="0 0 20 20" class="ring" aria-hidden="true"><circle cx="10" cy="10" r="8" /><circle cx="10" cy="10" r="8" class="over" pathLength="100" stroke-dasharray="${part * 100} 100" /></svg>
        <span class="mono">${event}</span><${Until} at=${at} now=${now} /></li>`;
      })}
  </ul></section>`;
}

export function Effects({ actor }: { actor: Standing }): VNode | null {
  if (actor.pending.length === 0) return null;
  return html`<section class="card effects" aria-labelledby="h-effects"><h2 id="h-effects">Pending effects <span class="quiet">${actor.pending.length}</span></h2><ul>
    ${actor.pending.slice(0, 12).map(({ key, type }) => html`<li key=${key}><span class="mono">${type}</span> <span class="quiet">${key.split('/').slice(-2).join('/')}</span></li>`)}
    ${actor.pending.length > 12 && html`<li class="quiet">and ${actor.pending.length - 12} more</li>`}
  </ul></section>`;
}

interface Talk {
  heard: number;
  said: number;
}

const relatedMax = 10;

/**
 * The actors with which it exchanged messages, in the known history.
 *
 * @param isWhole whether an actor that is not in `rows` does not exist, rather than being unknown so far
 */
export function Related({
  id,
  steps,
  rows,
  isWhole,
}: {
  id: ActorId;
  steps: readonly HistoryStep[];
  rows: ReadonlyMap<ActorId, LiveRow>;
  isWhole: boolean;
}): VNode | null {
  const talks = talksOf(id, steps);
  if (talks.size === 0) return null;
  const sorted = [...talks].sort(([, a], [, b]) => b.heard + b.said - a.heard - a.said);
  return html`<section class="card related" aria-labelledby="h-related"><h2 id="h-related">Talks with</h2><ul>
    ${sorted.slice(0, relatedMax).map(([other, { heard, said }]) => {
      const row = rows.get(other);
      return html`<li key=${other}>${row ? html`<${Mark} health=${row.reason.health} parked=${row.parked} />` : html`<span class="gone" ...${absence(isWhole)} />`}
        <${ActorLink} id=${other} /><span class="talk" title="${said} sent, ${heard} received">${said > 0 && `→ ${said}`} ${heard > 0 && `← ${heard}`}</span></li>`;
    })}
    ${sorted.length > relatedMax && html`<li class="quiet">and ${sorted.length - relatedMax} more</li>`}
  </ul></section>`;
}

function talksOf(id: ActorId, steps: readonly HistoryStep[]): Map<ActorId, Talk> {
  const talks = new Map<ActorId, Talk>();
  const note = (other: ActorId, part: keyof Talk) => {
    if (other === id) return;
    const talk = talks.get(other) ?? { heard: 0, said: 0 };
    talk[part]++;
    talks.set(other, talk);
  };
  for (const { cause, effects } of steps) {
    const sender = senderOf(cause);
    if (sender) note(sender.id, 'heard');
    for (const { to } of effects)
      if (Array.isArray(to)) for (const other of to) note(String(other) as ActorId, 'said');
  }
  return talks;
}

export function Ownership({
  actor,
  store,
  step,
}: {
  actor: Standing;
  store: Store;
  step: HistoryStep | null | undefined;
}): VNode {
  const replicas = store.cluster?.replicas.map(({ replica }) => replica) ?? [];
  const owner = step
    ? step.replica
    : (store.cluster?.shards.find(({ shard }) => shard === actor.shard)?.owner ?? actor.owner);
  const facts: Array<[string, unknown]> = [
    ['Owner', html`<${Owner} owner=${owner} replicas=${replicas} />`],
    ['Shard', actor.shard],
    ['Fence', step?.fence ?? actor.fence],
    ['Revision', step?.rev ?? actor.rev],
    ['Machine', `${actor.machine} v${actor.machineVersion}`],
  ];
  return html`<section class="card ownership" aria-labelledby="h-owner"><h2 id="h-owner" class="sr-only">Ownership</h2><dl>${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></section>`;
}

function lastName(id: ActorId): string {
  return id.split('/').slice(2).join('/');
}
