/** The messages that an election accepts from outside: those of its candidates. */
import * as v from 'valibot';
import type { MessageOptions, Origin } from '../../actors/kind.ts';
import { OrreryError } from '../../base/errors.ts';
import type { PlainEvent } from '../../base/plain-event.ts';

/** As long as an object's name; no control characters, because it is shown to people. */
const candidate = v.pipe(
  v.string(),
  v.minLength(1, 'a candidate has a name'),
  v.maxLength(253),
  // Not every JSON parser keeps a field of this name.
  v.notValue('__proto__'),
  v.regex(/^[^\p{Cc}\p{Bidi_Control}]*$/u, 'a candidate’s name has no control characters'),
  // The Lease would otherwise contain another name than the requested one.
  v.check((name) => name.isWellFormed(), 'a candidate’s name is whole characters'),
  v.description('the name under which it campaigns'),
);
const term = v.pipe(v.number(), v.integer(), v.minValue(0), v.description('the term that it was told'));
/** Shorter than a request is useless; nobody would wait longer than an hour. */
const ttlMs = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(100),
  v.maxValue(3_600_000),
  v.description('milliseconds of silence after which it is dropped'),
);

export const electionMessages: MessageOptions = {
  messages: {
    'election.campaign': v.pipe(
      v.object({ candidate, ttlMs: v.optional(v.nullable(ttlMs), null) }),
      v.description('the candidate wants to lead'),
    ),
    'election.renew': v.pipe(v.object({ candidate, term }), v.description('the leader is still there')),
    'election.resign': v.pipe(
      v.object({ candidate, term: v.optional(term, 0) }),
      v.description('the leader gives the term up'),
    ),
  },
  refine: knowingItsTerm,
};

/**
 * A resignation without a term ends whatever the candidate leads, so it is accepted by request subject only:
 * any program may write any candidate's name into a message.
 *
 * @throws OrreryError MESSAGE_NOT_ALLOWED
 */
function knowingItsTerm(event: PlainEvent, { isTrusted }: Origin): PlainEvent {
  if (isTrusted || event.type !== 'election.resign' || event.term !== 0) return event;
  throw new OrreryError('MESSAGE_NOT_ALLOWED', 'a resignation by mail must name the term that it ends');
}
