/** Processes that campaign for one Lease, with virtual time: who led and lost when. */

import type { Clock } from '../../../src/base/clock.ts';
import type { KubePort } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { type Campaign, startCampaign } from '../../../src/features/elections/campaign.ts';
import { leases } from '../../../src/features/elections/resources.ts';
import { defaultTiming, type ElectionTiming } from '../../../src/machines/election/lease-record.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { LeaseKube } from './lease-kube.ts';

/** Of the Lease, in namespace `shop`. */
export const name = 'worker';

interface Step {
  readonly at: number;
  readonly who: string;
  readonly what: 'leads' | 'lost';
  readonly term: number;
}

export class Scene {
  readonly clock = new VirtualClock();
  readonly kube = new LeaseKube(this.clock);
  readonly steps: Step[] = [];
  readonly #start = this.clock.now();
  #seed = 1;

  async candidate(
    id: string,
    options: { timing?: ElectionTiming; clock?: Clock; kube?: KubePort } = {},
  ): Promise<Campaign> {
    const note = (what: Step['what']) => (leadership: { readonly term: number }) =>
      void this.steps.push({ at: this.now, who: id, what, term: leadership.term });
    const campaign = startCampaign({
      kube: options.kube ?? this.kube,
      clock: options.clock ?? this.clock,
      random: seededRandom(this.#seed++),
      log: silentLog,
      place: { namespace: 'shop', name },
      id,
      timing: options.timing ?? defaultTiming,
      onLeading: note('leads'),
      onLost: note('lost'),
    });
    await this.clock.advance(5);
    return campaign;
  }

  get now(): number {
    return this.clock.now() - this.#start;
  }

  get record() {
    return this.kube.record(name);
  }

  /** Somebody labels the Lease; the record stays. */
  touch(): void {
    const object = this.kube.all(leases).get(`shop/${name}`);
    this.kube.put(leases, 'shop', name, { spec: object?.spec, labels: { touched: 'yes' } });
  }

  /** Whole seconds of the advance are seen as they pass. */
  advance(seconds: number): Promise<void> {
    return this.clock.advance(seconds * 1_000);
  }

  last(): Step | undefined {
    return this.steps.at(-1);
  }
}
