/**
 * A message that people may not send has no effect, however exact the forgery: each becomes a dead letter
 * that says why, and no actor remembers to have taken it (docs/security.md, "Who speaks").
 */

import { knownId, remembrance } from '../../../src/actors/shards/message-ids.ts';
import { forgedIds } from '../simulation/forgeries.ts';
import type { CheckerKind } from './checker.ts';

export const forged: CheckerKind = {
  name: 'nothing forged has an effect',
  create({ breach }) {
    /** Not yet refused. */
    const open = new Set<string>();
    const shorts = new Map<string, string>();
    return (sighting) => {
      if (sighting.kind === 'mail' && sighting.messageId?.startsWith(forgedIds)) {
        open.add(sighting.messageId);
        for (const isFromActor of [true, false])
          for (const short of remembrance(knownId(sighting.messageId, isFromActor)).split(' '))
            shorts.set(short, sighting.messageId);
      }
      if (sighting.kind === 'lost' && sighting.stream === 'mail') open.clear();
      if (sighting.kind === 'buried' && sighting.messageId?.startsWith(forgedIds)) {
        open.delete(sighting.messageId);
        if (!sighting.error.startsWith('MESSAGE_NOT_ALLOWED'))
          breach(`${sighting.messageId} was refused for another reason: ${sighting.error}`);
      }
      if (sighting.kind === 'saved') {
        const taken = (sighting.record.recentIds.at(-1) ?? '').split(' ').find((id) => shorts.has(id));
        if (taken !== undefined) breach(`${sighting.id} took ${shorts.get(taken)}`);
      }
      if (sighting.kind === 'end' && open.size > 0)
        breach(`${[...open].join(', ')}: neither refused nor taken`);
    };
  },
};
