/** A simulation's sightings as lines for people. */

import type { Sighting } from '../../packages/testing/simulation/sightings.ts';
import type { Transition } from '../../src/base/views.ts';

/** null: not worth a line. */
export function sightingLine(atMs: number, sighting: Sighting): string | null {
  const text = words(sighting);
  return text === null ? null : `${(atMs / 1000).toFixed(3).padStart(9)}  ${text}`;
}

function words(sighting: Sighting): string | null {
  switch (sighting.kind) {
    case 'saved': {
      const { record, before, id, sequence } = sighting;
      const step = record.feed.at(-1);
      if (record.rev === before?.rev || !step) return `   ${id} rev ${record.rev} stored again (${sequence})`;
      return `${id} ${stepWords(step)}  (rev ${record.rev}, fence ${record.fence}, ${step.replica}, stored ${sequence})`;
    }
    case 'fence':
      return `   shard ${sighting.shard}: ${sighting.replica ?? 'given back'} (${sighting.sequence})`;
    case 'effect':
      return `   ${sighting.replica} runs ${sighting.effect.type} ${sighting.key} ${effectWords(sighting.effect)}`;
    case 'patched':
      return `** ${sighting.name} (${sighting.uid}) is ${sighting.status} by ${sighting.key}`;
    case 'answered':
      return `   ${sighting.service} (${sighting.serviceUid}) answers: ${sighting.status} ${sighting.ip} (${sighting.podUid})`;
    case 'mail':
      return `   mail ${sighting.sequence} to ${sighting.id}: ${sighting.type} ${sighting.messageId}`;
    case 'buried':
      return `   dead letter: ${sighting.error}`;
    case 'world':
      return `   world: ${sighting.resource}/${sighting.name} ${digestWords(sighting.digest)}`;
    case 'complaint':
      return `!! ${sighting.replica}: ${sighting.actor} ${sighting.text}`;
    case 'lost':
      return `!! the stream ${sighting.stream} is lost`;
    case 'done':
      return `== ${sighting.text}`;
    case 'calm':
    case 'end':
      return `== ${sighting.kind}`;
    case 'told':
    case 'round':
    case 'second':
      return null;
  }
}

/** `from --event(fields)--> to  asks for a, b` */
export function stepWords({ from, to, event, effects }: Transition): string {
  const { type, at: _at, random: _random, ...fields } = event;
  const asked = effects.map((effect) => `${effect.type} ${effectWords(effect)}`.trim());
  const about = Object.keys(fields).length === 0 ? '' : ` ${JSON.stringify(fields)}`;
  return `${from ?? 'new'} --${type}--> ${to}${about}${asked.length === 0 ? '' : `  asks for ${asked.join('; ')}`}`;
}

function effectWords(effect: { readonly type: string; readonly [field: string]: unknown }): string {
  switch (effect.type) {
    case 'message.send':
      return `${(effect.event as { type: string }).type} to ${(effect.to as string[]).join(', ')}`;
    case 'pod-condition.patch':
      return `${effect.name} ${effect.status}`;
    case 'route.sample':
      return `round ${effect.round} for ${(effect.wanted as string[]).join(', ')}`;
    case 'kube-event.write':
      return `${effect.reason}`;
    default:
      return '';
  }
}

function digestWords(digest: object | null): string {
  if (digest === null) return 'is gone';
  const {
    kind: _kind,
    labels: _labels,
    createdAt: _createdAt,
    spec: _spec,
    ...rest
  } = digest as Record<string, unknown>;
  return JSON.stringify(rest);
}
