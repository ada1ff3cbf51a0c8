/** The messages that Pods and Services accept from people and from each other. */
import * as v from 'valibot';
import type { MessageOptions, Parties } from '../../actors/kind.ts';
import type { PlainEvent } from '../../base/plain-event.ts';

/** The name of a Service's actor: `<service>`, or `<service>@<gate>`. */
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(520));
const uid = v.pipe(v.string(), v.minLength(1), v.maxLength(64));
const ip = v.pipe(v.string(), v.ip());
const actor = (kind: 'pod' | 'service') =>
  v.pipe(v.string(), v.regex(new RegExp(`^${kind}/[^/]+/.+$`)), v.maxLength(600));

/** About the time of it, ms since the epoch. */
const spokenAt = v.optional(v.pipe(v.number(), v.minValue(0)));
const place = { pod: actor('pod'), uid, ip, family: v.picklist(['IPv4', 'IPv6']) };

const route = { service: name, serviceUid: uid, uid, ip };

const recheck = (does: string) => v.pipe(v.object({}), v.description(does));

export const podMessages: MessageOptions = {
  messages: {
    'pod.recheck': recheck('looks again as if the actor were new; a condition that is True stays'),
  },
  internal: {
    'route.proven': v.object({ ...route, watched: v.optional(v.literal(true)) }),
    'route.watching': v.object({ ...route }),
    'route.unverifiable': v.object({ service: name, serviceUid: uid }),
    'route.lost': v.object({
      service: name,
      serviceUid: uid,
      uids: v.pipe(v.array(uid), v.maxLength(1_000)),
      since: v.optional(v.pipe(v.array(v.number()), v.maxLength(1_000))),
    }),
    'route.missed': v.object({
      service: name,
      serviceUid: uid,
      answer: v.pipe(v.string(), v.maxLength(1_000)),
      unhealthy: v.pipe(v.array(v.string()), v.maxLength(1_000)),
    }),
  },
  holds: speaksForItself,
};

export const serviceMessages: MessageOptions = {
  messages: { 'service.recheck': recheck('samples and reconciles again') },
  internal: {
    'route.wanted': v.object({ ...place, spokenAt, curious: v.optional(v.boolean()) }),
    'route.watched': v.object({ ...place, spokenAt, confirm: v.optional(v.literal(true)) }),
    'header.asked': v.object({ service: actor('service') }),
    'header.unseen': v.object({ service: actor('service') }),
    'header.seen': v.object({}),
    'route.unwanted': v.object({ pod: actor('pod'), uid, spokenAt }),
  },
  holds: speaksForItself,
};

export const routeGateMessages: MessageOptions = {
  messages: { 'routegate.recheck': recheck('counts again and writes the status') },
};

/** A Service proves, and a Pod asks, only for itself, and no message crosses namespaces. */
function speaksForItself({ type, service, pod }: PlainEvent, { from, to }: Parties): boolean {
  if (from.namespace !== to.namespace) return false;
  if (to.kind === 'pod') return from.kind === 'service' && from.name === service;
  if (type === 'header.seen') return from.kind === 'service';
  return from.id === (pod ?? service);
}
