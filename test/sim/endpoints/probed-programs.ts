/**
 * Programs outside the cluster as a probe meets them: each address answers, refuses, or swallows the call.
 * Workloads ask to be probed and cease to; programs stop and come back; somebody else writes the condition,
 * also in the moment after a replica has (docs/features/endpoints.md §8).
 *
 * For a simulated API only: on a real one the addresses would be called.
 */
import type { EffectContext, EffectRunner } from '../../../src/actors/effect-runner.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { equal } from '../../../src/base/equal.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { probeAnnotation } from '../../../src/features/endpoints/digest.ts';
import { externalWorkloads } from '../../../src/features/endpoints/resources.ts';
import type { WorkloadProbeRun } from '../../../src/machines/workload/workload-effects.ts';
import { isReplica } from '../api/sim-api.ts';
import type { ActingParts } from '../features/feature-world.ts';
import type { Action } from './uncommon-actions.ts';

/** One of them cannot be read. */
const annotations = [
  'tcp://:8080 period=1s failures=1',
  'http://:8080/healthz period=5s timeout=2s failures=2 successes=2',
  'tcp://:8080',
  'ftp://:21',
] as const;

type Away = Map<string, 'refused' | 'swallowed'>;

export interface Programs {
  /** Whether somebody answers there. */
  answers(ip: string): boolean;
  /** Calls each address once, by the clock of the calling process. */
  runner(clock: Clock): EffectRunner<WorkloadProbeRun>;
  readonly actions: readonly Action[];
  /** Some of the workloads that are there ask to be probed. */
  begin(): void;
  /** Everybody answers, and nobody else writes. */
  heal(): void;
}

const ipsOf = ({ spec }: KubeObject) =>
  (spec as { workloadIPs: ReadonlyArray<{ ip: string }> }).workloadIPs.map(({ ip }) => ip);
export const annotationOf = ({ metadata }: KubeObject): string | null =>
  metadata.annotations?.[probeAnnotation] ?? null;

type Api = ActingParts['stage']['api'];

export function createPrograms({ stage, chance, say }: ActingParts): Programs {
  const { api, clock } = stage;
  /** Addresses that do not answer: what happens to a call. */
  const away: Away = new Map();
  const drawn = () => chance.pick(annotations) ?? annotations[0];
  let isMeddlesome = chance.happens(0.5);
  api.onWrite(({ resource, after, by }) => {
    if (resource.plural !== externalWorkloads.plural || after === null || !isReplica(by)) return;
    if (!isMeddlesome || chance.happens(0.4)) return;
    say(`workload that a replica wrote: ${after.metadata.name}`);
    const status = readyOf(after) === 'True' ? 'False' : 'True';
    clock.after(chance.seldomLong(0.1, 40), () => void write(api, after, status));
  });
  /** Its owner asks for no more probes just when one has found what its condition does not say yet. */
  const giveUp = (addresses: readonly string[], found: 'True' | 'False') => {
    const probed = api.all(externalWorkloads).find((one) => equal(ipsOf(one), addresses));
    if (probed && readyOf(probed) !== found && isMeddlesome && chance.happens(0.2))
      clock.after(chance.seldomLong(0.1, 40), () => void ask(api, probed, null));
  };
  const onOne = (act: (workload: KubeObject) => string) => () => {
    const found = chance.pick(api.all(externalWorkloads));
    return found ? act(found) : null;
  };
  return {
    heal() {
      away.clear();
      isMeddlesome = false;
    },
    answers: (ip) => !away.has(ip),
    runner: (own) =>
      told(
        callAll(away, own, () => chance.seldomLong(0.5, 300)),
        giveUp,
      ),
    begin() {
      const share = chance.pick([0, 0.5, 1]) ?? 0;
      for (const one of api.all(externalWorkloads)) if (chance.happens(share)) ask(api, one, drawn());
    },
    actions: [
      ['probe asked for', onOne((one) => ask(api, one, drawn()))],
      ['probe asked for no more', onOne((one) => ask(api, one, null))],
      [
        'condition written',
        onOne((one) => write(api, one, chance.pick(['True', 'False', 'Unknown']) ?? 'True')),
      ],
      [
        'program stops',
        onOne((one) => {
          const ip = chance.pick(ipsOf(one)) ?? '';
          away.set(ip, chance.happens(0.5) ? 'refused' : 'swallowed');
          const ms = chance.happens(0.3) ? 120_000 : chance.seldomLong(100, 30_000);
          clock.after(ms, () => void away.delete(ip));
          return `${one.metadata.name} at ${ip}`;
        }),
      ],
    ],
  };
}

function ask(api: Api, { metadata: { namespace, name } }: KubeObject, probe: string | null): string {
  const body = { metadata: { annotations: { [probeAnnotation]: probe } } };
  if (api.find(externalWorkloads, namespace, name) !== null)
    api.patch(externalWorkloads, {
      ...(namespace === undefined ? {} : { namespace }),
      name,
      type: 'merge',
      body,
    });
  return `${name} ${probe}`;
}

/** As somebody who has an opinion of his own. */
function write(api: Api, { metadata: { namespace, name } }: KubeObject, status: string): string {
  const conditions = [
    { type: 'Ready', status, reason: 'Somebody' },
    { type: 'Theirs', status },
  ];
  const at = { ...(namespace === undefined ? {} : { namespace }), name };
  const patch = { ...at, type: 'merge', body: { status: { conditions } }, subresource: 'status' };
  if (api.find(externalWorkloads, namespace, name) !== null) api.patch(externalWorkloads, patch);
  return `${name} ${status}`;
}

/** The status of its condition Ready. */
export const readyOf = ({ status }: KubeObject): string | null =>
  conditionsOf(status).find(({ type }) => type === 'Ready')?.status ?? null;

export const conditionsOf = (status: unknown) =>
  ((status ?? {}) as { conditions?: ReadonlyArray<{ type: string; status: string }> }).conditions ?? [];

/** The same calls, whose findings somebody hears of at once. */
const told =
  (call: ReturnType<typeof callAll>, hear: (addresses: readonly string[], found: 'True' | 'False') => void) =>
  async (...[effect, context]: Parameters<typeof call>) => {
    const outcome = await call(effect, context);
    hear(effect.addresses, outcome.failures.length === 0 ? 'True' : 'False');
    return outcome;
  };

function callAll(away: Away, clock: Clock, latencyMs: () => number) {
  const call = (address: string, { timeoutMs }: WorkloadProbeRun['probe'], signal: AbortSignal) =>
    new Promise<string | null>((resolve) => {
      const end = (problem: string | null) => {
        patience.cancel();
        resolve(problem);
      };
      const patience = clock.after(timeoutMs, () => end('simulated: no answer in time'));
      signal.addEventListener('abort', () => end('simulated: given up'), { once: true });
      clock.after(latencyMs(), () => {
        const how = away.get(address);
        if (how !== 'swallowed') end(how === undefined ? null : 'simulated: refused');
      });
    });
  return async ({ round, addresses, probe }: WorkloadProbeRun, { signal }: EffectContext) => {
    const problems = await Promise.all(addresses.map((ip) => call(ip, probe, signal)));
    return { type: 'workload.probed', round, failures: problems.filter((one) => one !== null) } as const;
  };
}
