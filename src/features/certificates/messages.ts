/** The messages that domains and Issuers accept from outside and from each other (admission.ts). */
import * as v from 'valibot';
import type { MessageOptions } from '../../actors/kind.ts';

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(253));
const domain = v.pipe(v.string(), v.regex(/^domain\/_\/.+$/), v.maxLength(600));
/** Milliseconds: up to a day, with a margin for rounding. */
const waitMs = v.pipe(v.number(), v.minValue(0), v.maxValue(86_400_000));

const message = v.optional(v.pipe(v.string(), v.maxLength(2_000)));

/** Fields that replicas of the previous release do not send are optional. */
const asking = {
  domain,
  registered: name,
  exempt: v.boolean(),
  namespace: v.optional(v.pipe(v.string(), v.maxLength(253))),
  due: v.optional(v.boolean()),
  ends: v.optional(v.number()),
  question: v.optional(v.number()),
  since: v.optional(v.number()),
};

export const domainMessages: MessageOptions = {
  messages: {
    'domain.renew': v.pipe(v.object({}), v.description('a new certificate now')),
    'domain.recheck': v.pipe(
      v.object({}),
      v.description('checks the Secrets and asks for the renewal window'),
    ),
  },
  internal: {
    'permit.granted': v.object({ issuer: name, question: v.optional(v.number()) }),
    'permit.deferred': v.object({
      issuer: name,
      reason: v.picklist(['budget', 'rateLimited', 'down', 'notReady', 'full', 'busy']),
      until: v.nullable(v.number()),
      message,
    }),
  },
  holds: ({ issuer }, { from }) => from.kind === 'issuer' && from.name === issuer,
};

export const issuerMessages: MessageOptions = {
  messages: { 'issuer.recheck': v.pipe(v.object({}), v.description('is verified again')) },
  internal: {
    'permit.asked': v.object({ ...asking, times: v.optional(v.number()) }),
    'permit.returned': v.object({
      ...asking,
      outcome: v.picklist(['issued', 'refused', 'rateLimited', 'down', 'unused', 'unusable']),
      ordered: v.optional(v.literal(true)),
      waitMs,
      again: v.boolean(),
      next: v.optional(v.number()),
      late: v.optional(v.literal(true)),
      scope: v.optional(v.picklist(['host', 'domain', 'account', 'unknown'])),
      message,
    }),
  },
  holds: ({ domain: asker }, { from }) => from.id === asker,
};
