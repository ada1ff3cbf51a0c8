/**
 * The names of actors: `<kind>/<namespace>/<name>`, with `_` for "no namespace".
 */
import { OrreryError } from './errors.ts';

/** The name of a kind of actor. The features define which kinds there are. */
export type ActorKind = string;

/** An actor id as text, e.g. `pod/shop/web-0`. */
export type ActorId = `${ActorKind}/${string}/${string}`;

/** A part of a loaded feature, home of some of its actors: `drain-3`. */
export type PartName = `${string}-${number}`;

/** Where an actor lives: in one of the shards of the built-in kinds, or in a part of a loaded feature. */
export type ShardName = number | PartName;

export interface ActorName {
  readonly kind: ActorKind;
  /** `_` for kinds without a namespace. */
  readonly namespace: string;
  readonly name: string;
}

export function actorId(kind: ActorKind, namespace: string, name: string): ActorId {
  return `${kind}/${namespace === '' ? '_' : namespace}/${name}`;
}

/** Whether the text has the form of a kind's name. */
export function isActorKind(text: string): boolean {
  return /^[a-z][a-z0-9-]{0,62}$/.test(text);
}

/** @throws OrreryError MESSAGE_UNKNOWN_KIND if the text is no actor id */
export function parseActorId(text: string): ActorName {
  const first = text.indexOf('/');
  const second = text.indexOf('/', first + 1);
  const kind = text.slice(0, Math.max(first, 0));
  if (second < 0 || second === text.length - 1 || second === first + 1 || !isActorKind(kind)) {
    throw new OrreryError(
      'MESSAGE_UNKNOWN_KIND',
      `"${text}" is not an actor id: <kind>/<namespace>/<name>, such as pod/shop/web-0`,
    );
  }
  return { kind, namespace: text.slice(first + 1, second), name: text.slice(second + 1) };
}
