/**
 * The cluster at a glance: trouble first, then ownership, health of each kind, speed, and the longest waits.
 */

import { systemClock } from '../../../base/clock.ts';
import type { LiveRow, ReplicaView } from '../../../base/views.ts';
import { age, change, eventName } from '../../../base/words.ts';
import { deadHref, listHref } from '../page-address.ts';
import type { Store } from '../page-store.ts';
import { ActorLink, Age, Mark, Owner, Sparkline, StateName, useTick } from '../pieces.ts';
import { html, useRef, type VNode } from '../vendor.ts';
import { attentionOf, sharedTroubles } from './attention.ts';
import { ShardMap } from './shard-map.ts';
import { type Counted, type Summary, summaryOf } from './summary.ts';

/** Ten signs of life. */
const silentMs = 2_000;
/** Scanning all actors at each frame would be slow; nobody reads faster than this. */
const summaryMs = 500;

export function Overview({ store }: { store: Store }): VNode {
  useTick(1_000);
  const made = useRef<{ at: number; summary: Summary } | null>(null);
  const at = systemClock.monotonic();
  if (made.current === null || at - made.current.at > summaryMs)
    made.current = { at, summary: summaryOf(store.rows) };
  const { summary } = made.current;
  const { cluster } = store;
  const replicas = cluster?.replicas.map(({ replica }) => replica) ?? [];
  const now = store.now();
  return html`<div class="overview">
    <h1 class="sr-only">Overview</h1>
    <${Troubles} store=${store} summary=${summary} now=${now} />
    <div class="column">
    <section class="card shards" aria-labelledby="h-shards">
      <h2 id="h-shards">Replicas and shards</h2>
      ${cluster ? html`<${ShardMap} shards=${cluster.shards} replicas=${replicas} />` : html`<div class="loading map-space">reading …</div>`}
      <${Replicas} store=${store} now=${now} />
    </section>
    <div class="pair">
    <section class="card" aria-labelledby="h-rates">
      <h2 id="h-rates">Steps a second <span class="quiet">last minute</span></h2>
      <${RatesList} store=${store} kinds=${[...summary.kinds.keys()]} />
    </section>
    <section class="card" aria-labelledby="h-waits">
      <h2 id="h-waits">Waiting longest</h2>
      <${Waits} rows=${summary.waits} now=${now} isWhole=${store.isWhole} />
    </section>
    </div>
    </div>
    <div class="column">
    <section class="card" aria-labelledby="h-kinds">
      <h2 id="h-kinds">Actors <span class="quiet">${summary.total.toLocaleString('en')}${store.isWhole ? '' : ' so far'}</span></h2>
      ${[...summary.kinds].map(([kind, states]) => html`<${KindBar} key=${kind} kind=${kind} states=${states} />`)}
      ${summary.total === 0 && html`<p class="quiet">${store.isWhole ? 'no actors here' : 'reading …'}</p>`}
    </section>
    <section class="card news" aria-labelledby="h-news">
      <h2 id="h-news">Just now</h2>
      <${News} store=${store} now=${now} />
    </section>
    </div>
  </div>`;
}

/** A replica that cannot read the cluster, as in an outage of NATS, is itself what is wrong. */
function Reading({ store: { silence, replica, isWhole } }: { store: Store }): VNode {
  if (silence?.isReplica && isWhole)
    return html`<p>this page has heard nothing from ${replica} for ${age(silence.ms)}</p>`;
  if (silence === null || silence.isReplica) return html`<p class="quiet">reading the cluster …</p>`;
  return html`<p>${replica} has heard nothing of the cluster for ${age(silence.ms)}; its /readyz says why</p>`;
}

function Troubles({ store, summary, now }: { store: Store; summary: Summary; now: number }): VNode {
  const { cluster } = store;
  const letters = cluster?.deadLetters ?? { count: 0, newest: [] };
  const unowned =
    cluster?.shards.filter(({ owner, state }) => owner === null || state !== 'active').length ?? 0;
  const told = sharedTroubles(cluster?.troubles ?? []);
  const attention = attentionOf({
    isWhole: cluster !== null && store.isWhole,
    silence: store.silence,
    troubles: summary.wrongCount + letters.count + unowned,
    told: told.length,
  });
  if (attention === 'reading' || !cluster)
    return html`<section class="card troubles" aria-label="What is wrong"><${Reading} store=${store} /></section>`;
  if (attention === 'silent')
    return html`<section class="card troubles ill" aria-labelledby="h-troubles">
      <h2 id="h-troubles">No news</h2><${Reading} store=${store} /><p class="quiet">nothing needed a look then</p>
    </section>`;
  if (attention === 'well') {
    return html`<section class="card troubles well" aria-labelledby="h-troubles">
      <${Mark} health="ok" /><h2 id="h-troubles">Nothing needs a look</h2>
      <p class="quiet">no actor is parked or in trouble, no dead letters, all ${cluster.shards.length} shards are owned</p>
    </section>`;
  }
  return html`<section class="card troubles ill" aria-labelledby="h-troubles">
    <h2 id="h-troubles">Needs a look</h2>
    <ul class="counts">
      ${summary.parked > 0 && html`<li><b>${summary.parked}</b> parked</li>`}
      ${summary.wrongCount > summary.parked && html`<li><b>${summary.wrongCount - summary.parked}</b> in trouble</li>`}
      ${letters.count > 0 && html`<li><a href=${deadHref}><b>${letters.count}</b> dead letter${letters.count === 1 ? '' : 's'}</a></li>`}
      ${unowned > 0 && html`<li><b>${unowned}</b> shard${unowned === 1 ? '' : 's'} without an active owner</li>`}
    </ul>
    <ul class="trouble-rows">
      ${told.map(
        ({ text, replicas }) => html`<li key=${text}>
        <${Mark} health="wrong" /><span class="letter-subject">${replicas.join(', ')}</span><span class="why whole">${text}</span>
      </li>`,
      )}
      ${summary.wrong.map(
        (row) => html`<li key=${row.id}>
        <${Mark} health="wrong" parked=${row.parked} /><${ActorLink} id=${row.id} /><${StateName} state=${row.state} />
        <span class="why" title=${row.reason.text}>${row.reason.text}</span><${Age} since=${row.reason.since} now=${now} />
      </li>`,
      )}
      ${summary.wrongCount > summary.wrong.length && html`<li class="more">and ${(summary.wrongCount - summary.wrong.length).toLocaleString('en')} more in trouble: choose a kind to see its</li>`}
      ${letters.newest.slice(0, 3).map(
        (letter) => html`<li key=${letter.at}>
        <span class="letter" aria-hidden="true">✉</span><a class="letter-subject" href=${deadHref}>${letter.to ?? letter.subject}</a>
        <span class="why">${letter.error}</span><${Age} since=${letter.at} now=${now} />
      </li>`,
      )}
    </ul>
  </section>`;
}

function Replicas({ store, now }: { store: Store; now: number }): VNode {
  const replicas = [...(store.cluster?.replicas ?? [])].sort((a, b) => (a.replica < b.replica ? -1 : 1));
  const names = replicas.map(({ replica }) => replica);
  // A picture that comes late makes no replica silent.
  const isSilent = ({ lastSeen }: ReplicaView) => (store.cluster?.now ?? 0) - lastSeen > silentMs;
  return html`<table class="replicas">
    <thead><tr><th>Replica</th><th class="num">Shards</th><th class="num">Actors</th><th class="num">Steps/s</th><th>Release</th><th class="num">Seen</th></tr></thead>
    <tbody>${replicas.map(
      (one) => html`<tr key=${one.replica} class=${isSilent(one) ? 'silent' : ''}>
      <td><${Owner} owner=${one.replica} replicas=${names} /></td>
      <td class="num">${one.shards.length}</td><td class="num">${one.actors.toLocaleString('en')}</td>
      <td class="num">${Math.round(one.stepsPerSecond)}</td><td>${one.release}</td>
      <td class="num">${isSilent(one) ? html`<b>silent <${Age} since=${one.lastSeen} now=${now} /></b>` : 'now'}</td>
    </tr>`,
    )}</tbody>
  </table>
  ${
    store.moves.length > 0 &&
    html`<p class="moves" role="status">
    ${movesText(store)} <${Age} since=${store.moves[0]?.at ?? 0} now=${now} /> ago
  </p>`
  }`;
}

function movesText({ moves }: Store): string {
  const latest = moves.filter(({ at }) => at === moves[0]?.at);
  const targets = [...new Set(latest.map(({ to }) => to ?? 'nobody'))];
  return latest.length === 1
    ? `shard ${latest[0]?.shard} moved from ${latest[0]?.from ?? 'nobody'} to ${targets[0]}`
    : `${latest.length} shards moved to ${targets.join(' and ')}`;
}

function KindBar({ kind, states }: { kind: string; states: readonly Counted[] }): VNode {
  const total = states.reduce((sum, { count }) => sum + count, 0);
  return html`<div class="kind-bar">
    <h3><a href=${listHref(kind)}>${kind}</a> <span class="quiet">${total.toLocaleString('en')}</span></h3>
    <div class="bar" aria-hidden="true">${states.map(({ state, health, count }) => html`<i key="${health} ${state}" class=${health} style=${{ flexGrow: count }}></i>`)}</div>
    <ul>${states.slice(0, 6).map(
      ({ state, health, count }) => html`<li key="${health} ${state}">
      <a href=${listHref(kind, { state, health })}><${Mark} health=${health} /><${StateName} state=${state} /> <b>${count.toLocaleString('en')}</b></a>
    </li>`,
    )}${states.length > 6 && html`<li class="quiet">${states.length - 6} more states</li>`}</ul>
  </div>`;
}

function RatesList({ store, kinds }: { store: Store; kinds: readonly string[] }): VNode {
  return html`<ul class="rates">${kinds.map((kind) => {
    const values = store.rates.of(kind);
    const recent = values.slice(-5).reduce((sum, value) => sum + value, 0) / 5;
    const text = recent >= 10 || recent === 0 ? recent.toFixed(0) : recent.toFixed(1);
    return html`<li key=${kind}><span>${kind}</span><${Sparkline} values=${values} label="${kind}: ${text} steps a second" /><b>${text}</b></li>`;
  })}</ul>`;
}

function Waits({ rows, now, isWhole }: { rows: readonly LiveRow[]; now: number; isWhole: boolean }): VNode {
  const longest = Math.max(1, ...rows.map(({ reason }) => now - reason.since));
  if (rows.length === 0) return html`<p class="quiet">${isWhole ? 'nothing waits' : 'reading …'}</p>`;
  return html`<ul class="waits">${rows.map(
    (row) => html`<li key=${row.id}>
    <${Mark} health=${row.reason.health} parked=${row.parked} />
    <${ActorLink} id=${row.id} /><span class="why" title=${row.reason.text}>${row.reason.text}</span>
    <span class="wait-bar" aria-hidden="true"><i style=${{ width: `${((now - row.reason.since) / longest) * 100}%` }}></i></span>
    <${Age} since=${row.reason.since} now=${now} />
  </li>`,
  )}</ul>`;
}

function News({ store, now }: { store: Store; now: number }): VNode {
  if (store.news.length === 0)
    return html`<p class="quiet">nothing has happened since this page was opened</p>`;
  return html`<ul class="news-rows">${store.news.map(
    ({ row, at }) => html`<li key="${row.id}/${row.rev}">
    <${Mark} health=${row.reason.health} parked=${row.parked} />
    <${ActorLink} id=${row.id} at=${row.rev} when=${at} /><span class="event">${eventName(row.event ?? '')}</span>
    <${StateName} state=${change({ from: row.state, to: row.state }).replace('stays ', '')} />
    <${Age} since=${at} now=${now} />
  </li>`,
  )}</ul>`;
}
