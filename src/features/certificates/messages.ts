/** What domains and Issuers take from outside and from each other (admission.ts). */
import * as v from 'valibot';
import type { KindMessages } from '../../actors/admission.ts';

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(253));
const domain = v.pipe(v.string(), v.regex(/^domain\/_\/.+$/), v.maxLength(600));
/** Milliseconds: up to a day and what rounding adds. */
const waitMs = v.pipe(v.number(), v.minValue(0), v.maxValue(86_400_000));

const asking = { domain, registered: name, exempt: v.boolean() };

export const domainMessages: KindMessages = {
  public: {
    'domain.renew': v.object({ type: v.literal('domain.renew') }),
    'domain.recheck': v.object({ type: v.literal('domain.recheck') }),
  },
  internal: {
    'permit.granted': v.object({ type: v.literal('permit.granted'), issuer: name }),
    'permit.deferred': v.object({
      type: v.literal('permit.deferred'),
      issuer: name,
      reason: v.picklist(['budget', 'rateLimited', 'down', 'notReady', 'full']),
      until: v.nullable(v.number()),
    }),
  },
  holds: ({ issuer }, { from }) => from.kind === 'issuer' && from.name === issuer,
};

export const issuerMessages: KindMessages = {
  public: { 'issuer.recheck': v.object({ type: v.literal('issuer.recheck') }) },
  internal: {
    'permit.asked': v.object({ type: v.literal('permit.asked'), ...asking }),
    'permit.returned': v.object({
      type: v.literal('permit.returned'),
      ...asking,
      outcome: v.picklist(['issued', 'refused', 'rateLimited', 'down', 'unused']),
      waitMs,
      again: v.boolean(),
    }),
  },
  holds: ({ domain: asker }, { from }) => from.id === asker,
};
