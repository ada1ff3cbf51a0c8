/**
 * What a real cluster shows of routes, in the simulation's form (test/sim/route-sightings.ts): a probe that
 * was led to a Pod, and a condition that became True.
 *
 * Weaker than the simulation in one point: a call to a Pod through a Service counts as its answer. Each
 * sighting is late enough for the records behind it to be known.
 */
import type { RoutedConnection, Routing } from '../../packages/dev-cluster/network/routing.ts';
import type { Sighting } from '../../packages/testing/simulation/sightings.ts';
import { conditionType } from '../sim/objects.ts';
import '../sim/route-sightings.ts';
import type { SeenRoutes } from './seen-routes.ts';
import { holdMs, type Witness } from './witness.ts';

const probedPort = 'health';

export function watchRoutes(
  { kube }: Pick<SeenRoutes, 'kube'>,
  routing: Pick<Routing, 'onConnection'>,
  witness: Pick<Witness, 'later'>,
  namespace: string,
): { see(sighting: Sighting): void; stop(): void } {
  /** Pod actor → what its steps requested to be marked, in order. */
  const asked = new Map<string, Array<{ readonly key: string; readonly uid: string }>>();
  const answered = ({ namespace: its, service, portName, address }: RoutedConnection) => {
    const digest = kube.get('services', namespace, service);
    if (its !== namespace || portName !== probedPort || digest?.kind !== 'services') return;
    const told = { service, serviceUid: digest.uid, podUid: '', ip: address, status: 200 };
    witness.later(() => ({ kind: 'answered', ...told }), holdMs / 2);
  };
  kube.onChange(({ name, digest }, before) => {
    if (digest?.kind !== 'pods' || digest.conditions[conditionType] !== 'True') return;
    if (before?.kind === 'pods' && before.uid === digest.uid && before.conditions[conditionType] === 'True')
      return;
    const { uid } = digest;
    witness.later((isLast) => {
      const steps = asked.get(`pod/${namespace}/${name}`) ?? [];
      const key = steps.findLast((one) => one.uid === uid)?.key;
      // A server that was killed reports the step later than the watch reports its effect.
      if (key === undefined && !isLast) return null;
      return { kind: 'patched', replica: '', key: key ?? '', namespace, name, uid, status: 'True' };
    }, 2 * holdMs);
  });
  return {
    see(sighting) {
      if (sighting.kind !== 'saved' || !sighting.id.startsWith('pod/')) return;
      const { facts } = sighting.record.snapshot.context as { facts: { uid: string } | null };
      const known = asked.get(sighting.id) ?? [];
      asked.set(sighting.id, known);
      for (const { key, effect } of sighting.record.outbox) {
        if (effect.type !== 'pod-condition.patch' || effect.status !== 'True' || facts === null) continue;
        const { uid } = facts;
        if (!known.some((one) => one.key === key && one.uid === uid)) known.push({ key, uid });
      }
    },
    stop: routing.onConnection(answered),
  };
}
