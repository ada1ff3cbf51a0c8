/**
 * What may come to an actor by mail or by `orrery send`: which events of which kind, and the form of their fields.
 *
 * The only file that imports the schema library for messages. Events that only the host makes (`pod.observed`, outcomes of
 * effects) are not admitted: nobody outside may tell an actor what the world looks like.
 */
import * as v from 'valibot';
import { OrreryError } from '../base/errors.ts';
import type { ActorKind } from '../base/ids.ts';
import { domainAdmission, issuerAdmission } from '../features/certificates/admission-certificates.ts';
import { admittedToElections } from '../features/elections/admission-election.ts';
import { datedProxierEvent, type Origin, proxierEvents } from '../features/proxiers/admission-proxier.ts';
import type { PlainEvent } from './host/host-parts.ts';

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(253));
const uid = v.pipe(v.string(), v.minLength(1), v.maxLength(64));
const ip = v.pipe(v.string(), v.ip());
const actor = (kind: ActorKind) =>
  v.pipe(v.string(), v.regex(new RegExp(`^${kind}/[^/]+/.+$`)), v.maxLength(600));

const place = { pod: actor('pod'), uid, ip, family: v.picklist(['IPv4', 'IPv6']) };
const route = (type: string) => v.object({ type: v.literal(type), service: name, serviceUid: uid, uid, ip });

/** Kind → event type → schema. */
const admitted: Readonly<Record<string, Readonly<Record<string, v.GenericSchema<unknown, PlainEvent>>>>> = {
  pod: {
    'pod.recheck': v.object({ type: v.literal('pod.recheck') }),
    'route.proven': route('route.proven'),
    'route.unverifiable': v.object({ type: v.literal('route.unverifiable'), service: name, serviceUid: uid }),
    'route.lost': v.object({
      type: v.literal('route.lost'),
      service: name,
      serviceUid: uid,
      uids: v.pipe(v.array(uid), v.maxLength(1_000)),
    }),
  },
  domain: domainAdmission,
  issuer: issuerAdmission,
  election: admittedToElections,
  service: {
    'service.recheck': v.object({ type: v.literal('service.recheck') }),
    'route.wanted': v.object({ type: v.literal('route.wanted'), ...place }),
    'route.watched': v.object({ type: v.literal('route.watched'), ...place }),
    'header.asked': v.object({ type: v.literal('header.asked'), service: actor('service') }),
    'header.seen': v.object({ type: v.literal('header.seen') }),
    'route.unwanted': v.object({ type: v.literal('route.unwanted'), pod: actor('pod'), uid }),
  },
  proxier: proxierEvents,
  workload: { 'workload.recheck': v.object({ type: v.literal('workload.recheck') }) },
  release: {
    'release.reconcile': v.object({ type: v.literal('release.reconcile') }),
  },
};

/** Event types that an actor of the kind takes from outside. */
export function admittedEvents(kind: string): readonly string[] {
  return Object.keys(admitted[kind] ?? {});
}

/**
 * The event with exactly the fields that its schema knows.
 *
 * @throws OrreryError MESSAGE_UNKNOWN_KIND | MESSAGE_UNKNOWN_EVENT, saying what is wrong and what is allowed
 */
export function admit(kind: string, event: PlainEvent, origin: Origin): PlainEvent {
  const events = admitted[kind];
  if (!events)
    throw new OrreryError('MESSAGE_UNKNOWN_KIND', `there are no actors of kind "${kind}" in this release`);
  const schema = Object.hasOwn(events, event.type) ? events[event.type] : undefined;
  if (!schema) {
    throw new OrreryError(
      'MESSAGE_UNKNOWN_EVENT',
      `a ${kind} takes no event "${event.type}"; it takes ${Object.keys(events).join(', ')}`,
    );
  }
  const result = v.safeParse(schema, event);
  if (result.success) return kind === 'proxier' ? datedProxierEvent(result.output, origin) : result.output;
  const [issue] = result.issues;
  const path = issue.path?.map(({ key }) => String(key)).join('.') ?? '';
  throw new OrreryError('MESSAGE_UNKNOWN_EVENT', `field "${path}" of ${event.type}: ${issue.message}`);
}
