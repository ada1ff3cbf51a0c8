/** Chooses the protocol of an opened live feed: Orrery's own, or the Stately inspector's. */
import { attempt } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import { type LiveParts, OwnSession } from './live.ts';
import type { SocketParts } from './socket.ts';
import { type StatelyParts, startStately } from './stately.ts';

export function openLive(parts: LiveParts & StatelyParts): SocketParts['start'] {
  return (query, line) =>
    query.get('protocol') === 'stately'
      ? startStately(parts, query.getAll('actor').filter(isActorId), line)
      : new OwnSession(parts, line);
}

const isActorId = (text: string): text is ActorId => attempt(() => parseActorId(text) !== null, false);
