/**
 * What is seen during a block, as lines for a transcript. A thing that is seen many times is one line with a
 * count, at its first occurrence. Left out: what says nothing to a reader (the world's messages, the feed,
 * records that are stored again).
 */

import type { Sighting } from '../../packages/testing/simulation/sightings.ts';
import type { EffectData } from '../../src/actors/host/step.ts';
import type { Transition } from '../../src/base/views.ts';
import { eventName } from '../../src/base/words.ts';
import type { SampleSummary } from '../../src/machines/service/route-events.ts';

export interface Lines {
  see(atMs: number, sighting: Sighting): void;
  /** A log line of a replica. */
  hear(atMs: number, who: string, facts: object, message: string): void;
  /** What was seen since the last call. */
  take(): string[];
}

export function createLines(): Lines {
  let seen = new Map<string, { atMs: number; count: number }>();
  const note = (atMs: number, text: string | null) => {
    if (text === null) return;
    const known = seen.get(text);
    if (known) known.count++;
    else seen.set(text, { atMs, count: 1 });
  };
  return {
    see: (atMs, sighting) => note(atMs, words(sighting)),
    hear: (atMs, who, facts, message) => note(atMs, heard(who, facts, message)),
    take() {
      const lines = [...seen].map(
        ([text, { atMs, count }]) =>
          `${(atMs / 1000).toFixed(3).padStart(8)}  ${text}${count === 1 ? '' : ` (${count} times)`}`,
      );
      seen = new Map();
      return lines;
    },
  };
}

function words(sighting: Sighting): string | null {
  switch (sighting.kind) {
    case 'saved': {
      const { record, before } = sighting;
      const step = record.feed.at(-1);
      return step === undefined || record.rev === before?.rev ? null : stepWords(step);
    }
    case 'fence':
      return sighting.replica === null
        ? 'a shard is given back'
        : `${sighting.replica} becomes the owner of a shard`;
    case 'effect':
      return `${sighting.replica} runs ${sighting.key}: ${effectWords(sighting.effect)}`;
    case 'patched':
      return `KUBERNETES: the condition of ${sighting.name} (${sighting.uid}) is ${sighting.status}`;
    case 'answered':
      return `${sighting.service} answers: ${sighting.status} by ${sighting.ip ?? 'somebody who does not say who'} (${sighting.podUid})`;
    case 'mail':
      return `mail to ${sighting.id}: ${sighting.type || 'unreadable'} (id ${sighting.messageId})`;
    case 'buried':
      return `DEAD LETTER: ${sighting.error}`;
    case 'complaint':
      return `COMPLAINT of ${sighting.replica}: ${sighting.actor} ${sighting.text}`;
    default:
      return null;
  }
}

/** The fields of an event that are shown. */
const toldFields = ['pod', 'service', 'uid', 'ip', 'round', 'status', 'effect', 'error'] as const;

function stepWords({ id, rev, replica, from, to, event, effects }: Transition): string {
  const { type, summary } = event;
  const about = toldFields
    .flatMap((name) => (event[name] === undefined ? [] : [` ${name}=${String(event[name])}`]))
    .join('');
  const told = summary === undefined ? '' : ` (${summaryWords(summary as SampleSummary)})`;
  const asks = effects.map((effect) => `\n            asks for ${effectWords(effect)}`).join('');
  const [before, after] = [from ?? 'new', to].map(withoutOthers);
  const change = before === after ? `stays ${after}` : `${before} -> ${after}`;
  return `${replica} SAVES ${id} rev ${rev}: ${change}, on ${eventName(String(type))}${about}${told}${asks}`;
}

/** The other regions of a Service have no part in these stories. */
const withoutOthers = (state: string | undefined) =>
  state?.split(',').find((region) => region.startsWith('routes.')) ?? state;

function summaryWords({ healthy, unhealthy, anonymous, unreachable }: SampleSummary): string {
  const others = [
    [unhealthy.length, 'unhealthy'],
    [anonymous, 'anonymous'],
    [unreachable, 'without an answer'],
  ] as const;
  const words = others.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]));
  return [`reached ${healthy.join(', ') || 'nobody'}`, ...words].join('; ');
}

function effectWords(effect: EffectData): string {
  switch (effect.type) {
    case 'message.send':
      return `message ${(effect.event as { type: string }).type} to ${(effect.to as string[]).join(', ')}`;
    case 'pod-condition.patch':
      return `condition ${effect.status} of ${effect.name} (${effect.uid})`;
    case 'route.sample':
      return `round ${effect.round} of calls, for ${(effect.wanted as string[]).join(', ')}`;
    case 'kube-event.write':
      return `a Kubernetes Event: ${effect.reason}`;
    default:
      return effect.type;
  }
}

/** From a replica's log: what becomes of its shards after trouble, and what it warns of. */
function heard(who: string, facts: object, message: string): string | null {
  const { event, error } = facts as { event?: string; error?: string };
  if (message === 'holding') {
    const isTrouble = event === 'holding.fenced' || event === 'claim.lost' || event === 'holding.withdrawn';
    return isTrouble ? `${who}: ${event}` : null;
  }
  const isWarning = /not known|failed|dead letter/.test(message);
  return isWarning ? `${who} warns: ${message}${error === undefined ? '' : ` (${error})`}` : null;
}
