/**
 * Objects that NATS cannot keep because too much would be kept of them: who looks at the object, at /readyz
 * or at the metrics is told which, why, and what helps.
 */
import type { Gauge } from '../actors/feature.ts';
import type { Clock } from '../base/clock.ts';
import { asError } from '../base/errors.ts';
import type { KubePort } from '../base/kube-port.ts';
import type { Log } from '../base/log-port.ts';
import { writeKubeEvent } from '../kube/effects/kube-event.ts';
import type { LeftOut, Mirror } from '../kube/mirror/mirror.ts';

const advice =
  'Orrery acts on what it knew of it before, or as if there were none, until its labels, selectors and lists are smaller.';

/** Named in /readyz for each kind; the log and the Events name all. */
const named = 3;

export function leftOutNotes(mirrors: Iterable<Pick<Mirror, 'status'>>): string[] {
  return [...mirrors].flatMap((mirror) => {
    const { leftOut } = mirror.status();
    const [first] = leftOut;
    if (first === undefined) return [];
    const notes = leftOut.slice(0, named).map((one) => `${textOf(one)}. ${advice}`);
    const more = leftOut.length - notes.length;
    return more === 0 ? notes : [...notes, `${more} more of kind ${first.resource.kind} are left out.`];
  });
}

const textOf = ({ resource, namespace, name, why }: LeftOut) =>
  `${resource.kind} ${namespace === '' ? name : `${namespace}/${name}`} is left out: ${why}`;

/** Of the mirrors that run in this replica. */
export function* leftOutGauges(mirrors: Iterable<Pick<Mirror, 'name' | 'status'>>): Iterable<Gauge> {
  for (const mirror of mirrors) {
    const { fence, leftOut } = mirror.status();
    if (fence === 0) continue;
    yield { name: 'orrery_world_left_out', labels: { resource: mirror.name }, value: leftOut.length };
  }
}

/** Writes a Warning Event on the object, for those who look there. */
export function leftOutEvents(
  kube: KubePort,
  { replica, clock, log }: { readonly replica: string; readonly clock: Clock; readonly log: Log },
): (object: LeftOut) => void {
  const write = writeKubeEvent(kube, { replica });
  const signal = new AbortController().signal;
  return ({ resource: { group, version, kind }, namespace, name, uid, why }) => {
    const at = clock.now();
    const regarding = {
      apiVersion: group === '' ? version : `${group}/${version}`,
      ...{ kind, namespace, name, uid },
    };
    const note = `Orrery leaves this object out: ${why}. ${advice}`;
    const event = { type: 'kube-event.write', regarding, eventType: 'Warning', reason: 'LeftOut' } as const;
    const context = {
      key: `left-out/${uid}/${at}`,
      actor: `watch/_/${kind}` as const,
      signal,
      emit: () => {},
    };
    write({ ...event, note, at }, context).catch((thrown) => {
      log.warn(
        { object: `${kind} ${namespace}/${name}`, error: asError(thrown).message },
        'no Event was written',
      );
    });
  };
}
