/**
 * The names of actors: `<kind>/<namespace>/<name>`, `_` for "no namespace".
 */
import { OrreryError } from './errors.ts';

export const actorKinds = [
  'pod',
  'service',
  'domain',
  'issuer',
  'election',
  'proxier',
  'release',
  'workload',
] as const;

export type ActorKind = (typeof actorKinds)[number];

/** An actor id as text, e.g. `pod/shop/web-0`. */
export type ActorId = `${ActorKind}/${string}/${string}`;

export interface ActorName {
  readonly kind: ActorKind;
  /** `_` for kinds without a namespace. */
  readonly namespace: string;
  readonly name: string;
}

export function actorId(kind: ActorKind, namespace: string, name: string): ActorId {
  return `${kind}/${namespace === '' ? '_' : namespace}/${name}`;
}

export function isActorKind(text: string): text is ActorKind {
  return (actorKinds as readonly string[]).includes(text);
}

/** @throws OrreryError MESSAGE_UNKNOWN_KIND if the text is no actor id */
export function parseActorId(text: string): ActorName {
  const first = text.indexOf('/');
  const second = text.indexOf('/', first + 1);
  const kind = text.slice(0, Math.max(first, 0));
  if (second < 0 || second === text.length - 1 || second === first + 1 || !isActorKind(kind)) {
    throw new OrreryError(
      'MESSAGE_UNKNOWN_KIND',
      `"${text}" is no actor id: <kind>/<namespace>/<name>, kind one of ${actorKinds.join(', ')}`,
    );
  }
  return { kind, namespace: text.slice(first + 1, second), name: text.slice(second + 1) };
}
