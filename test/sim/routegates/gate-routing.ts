/**
 * The routing as a small model: each Service reaches each Pod of its group a while after both exist, and
 * whoever has the address answers; for a while some Services answer as real ones do that prove nothing.
 */
import type { Chance } from '../../../packages/testing/time/chance.ts';
import { type Address, parseAddress } from '../../../src/base/address.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import type { ProbeAnswer, ProbeParts, ProbeTarget } from '../../../src/features/routes/probe/call.ts';
import { pods } from '../../../src/features/routes/resources.ts';
import { services } from '../../../src/kube/api/resources.ts';
import type { ApiStage } from '../features/feature-world.ts';
import { groupOf, ipOf, isOver, namespace } from './gate-objects.ts';

const named = { kind: 'named', addresses: [], unreadable: [] } as const;

/** Answers that prove no Pod: an error, a redirect, no header or one that says nothing, and no answer. */
export const oddAnswers: readonly ProbeAnswer[] = [
  { ...named, status: 503, addresses: [nobodysAddress()] },
  { ...named, status: 200, addresses: [nobodysAddress()] },
  { ...named, status: 302, unreadable: ['web-0'] },
  { ...named, status: 200, unreadable: ['10.0.0'] },
  { kind: 'anonymous', status: 200 },
  { kind: 'anonymous', status: 404 },
  { kind: 'unreachable', error: 'simulated: connection reset' },
  { kind: 'unreachable', error: 'simulated: the name is not known' },
];

export class GateRouting {
  /** Services that answer oddly, by name. */
  readonly odd = new Map<string, ProbeAnswer>();
  /** Services that swallow every call, by name. */
  readonly blackHoled = new Set<string>();
  readonly #stage: ApiStage;
  readonly #chance: Chance;
  readonly #learnMaxMs: number;
  /** From when on a Service reaches a Pod at its address, by the uids of both. */
  readonly #knownFrom = new Map<string, number>();

  constructor(stage: ApiStage, chance: Chance, learnMaxMs: number) {
    this.#stage = stage;
    this.#chance = chance;
    this.#learnMaxMs = learnMaxMs;
  }

  /**
   * One call of a probe.
   * @param parts with the clock of the calling process
   */
  call(
    { url, timeoutMs }: ProbeTarget,
    { clock, parseAddress }: ProbeParts,
    signal: AbortSignal,
    onAnswer: (answer: ProbeAnswer) => void,
  ): Promise<void> {
    return new Promise((resolve) => {
      let isOver = false;
      const end = (answer?: ProbeAnswer) => {
        if (isOver) return;
        isOver = true;
        patience.cancel();
        signal.removeEventListener('abort', abort);
        if (answer) onAnswer(answer);
        resolve();
      };
      const abort = () => end();
      const patience = clock.after(timeoutMs, () =>
        end({ kind: 'unreachable', error: 'simulated: no answer in time' }),
      );
      if (signal.aborted) return end();
      signal.addEventListener('abort', abort, { once: true });
      const [name = ''] = new URL(url).hostname.split('.');
      this.#stage.clock.after(this.#chance.seldomLong(0.5, 40), () => {
        const answer = this.#serve(name, parseAddress);
        // By the clock of the process: a paused one hears it later.
        if (answer !== null) clock.after(0, () => end(answer));
      });
    });
  }

  /** null: nobody ever answers. */
  #serve(name: string, parseAddress: ProbeParts['parseAddress']): ProbeAnswer | null {
    const { api } = this.#stage;
    const refused: ProbeAnswer = { kind: 'unreachable', error: 'simulated: connection refused' };
    const service = api.find(services, namespace, name);
    if (service === null) return refused;
    if (this.blackHoled.has(name)) return null;
    const odd = this.odd.get(name);
    if (odd !== undefined) return odd;
    const pod = this.#chance.pick(api.all(pods).filter((one) => this.#isReached(service, one)));
    const address = pod && parseAddress(ipOf(pod) ?? '');
    return address ? { kind: 'named', status: 200, addresses: [address], unreadable: [] } : refused;
  }

  #isReached(service: KubeObject, pod: KubeObject): boolean {
    const ip = ipOf(pod);
    if (ip === null || isOver(pod) || groupOf(service) !== groupOf(pod)) return false;
    const key = `${service.metadata.uid} ${pod.metadata.uid} ${ip}`;
    const { clock } = this.#stage;
    // Drawn when somebody first asks: earlier, nobody can tell.
    const from = this.#knownFrom.get(key) ?? clock.now() + this.#chance.between(0, this.#learnMaxMs);
    this.#knownFrom.set(key, from);
    return from <= clock.now();
  }
}

/** Of no Pod. */
function nobodysAddress(): Address {
  const address = parseAddress('10.250.0.1');
  if (address === undefined) throw new Error('it is an address');
  return address;
}
