/** What may come to an election from outside: what its candidates say. */
import * as v from 'valibot';

/** As long as the name of an object; no control characters, for it is shown to people. */
const candidate = v.pipe(
  v.string(),
  v.minLength(1, 'a candidate has a name'),
  v.maxLength(253),
  // Not every reader of JSON keeps a field of this name.
  v.notValue('__proto__'),
  v.regex(/^[^\p{Cc}]*$/u, 'a candidate’s name has no control characters'),
);
const term = v.pipe(v.number(), v.integer(), v.minValue(0));
/** Shorter than a request takes is of no use; longer than an hour nobody would wait. */
const ttlMs = v.pipe(v.number(), v.integer(), v.minValue(100), v.maxValue(3_600_000));

export const admittedToElections = {
  'election.campaign': v.object({
    type: v.literal('election.campaign'),
    candidate,
    ttlMs: v.optional(v.nullable(ttlMs), null),
  }),
  'election.renew': v.object({ type: v.literal('election.renew'), candidate, term }),
  'election.resign': v.object({ type: v.literal('election.resign'), candidate, term: v.optional(term, 0) }),
} as const;
