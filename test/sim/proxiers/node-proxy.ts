/**
 * The service proxy of a node, as docs/features/proxiers.md §1 requires: changes arrive, wait and are
 * applied, and the library's reporter reports the state of its families until that was accepted. Their real
 * state is kept for the checkers.
 */
import type { Chance } from '../../../packages/testing/time/chance.ts';
import type { IpFamily } from '../../../src/base/address.ts';
import { decode, encodeJson } from '../../../src/bus/codec.ts';
import { headerOf } from '../../../src/bus/envelope.ts';
import type { LinkState } from '../../../src/bus/memory/faults.ts';
import type { MemoryBus } from '../../../src/bus/memory/memory-bus.ts';
import {
  createReporter,
  type Reporter,
  type SendReport,
} from '../../../src/features/proxiers/proxier-reporter.ts';
import type { FamilyHealth } from '../../../src/machines/proxier/health-family.ts';
import type { ApiStage } from '../features/feature-world.ts';

export const families = ['IPv4', 'IPv6'] as const satisfies readonly IpFamily[];

export interface NodeProxyParts {
  readonly stage: ApiStage;
  readonly chance: Chance;
  readonly node: string;
}

export class NodeProxy {
  readonly node: string;
  readonly bus: MemoryBus;
  /** What it cannot apply for now. */
  readonly stuck = new Set<IpFamily>();
  /** When a report of it was accepted last, world time; null: never. */
  heardAt: number | null = null;
  /** Its proxier has ended, as it should, and it has reported nothing since. */
  isForgotten = false;
  /** Whether nobody hears it. */
  isCut = false;
  readonly #parts: NodeProxyParts;
  #levels: Record<IpFamily, FamilyHealth> = {
    IPv4: { pendingSince: null, lastUpdated: null },
    IPv6: { pendingSince: null, lastUpdated: null },
  };
  #reporter: Reporter;

  constructor(parts: NodeProxyParts) {
    this.#parts = parts;
    this.node = parts.node;
    this.bus = parts.stage.hub.connect(`proxy-${parts.node}`);
    this.#reporter = this.#startReporter();
    for (const family of families) this.#apply(family);
  }

  get levels(): Readonly<Record<IpFamily, FamilyHealth>> {
    return this.#levels;
  }

  /** A change arrives, and is applied a while later. */
  change(family: IpFamily, workMs: number): void {
    const { clock } = this.#parts.stage;
    const { pendingSince } = this.#levels[family];
    this.#set(family, { pendingSince: pendingSince ?? clock.now() });
    clock.after(workMs, () => this.#apply(family));
  }

  setLink(state: LinkState): void {
    this.isCut = state !== 'up';
    this.bus.faults.setLink(state);
  }

  /** A change comes that it does not apply until it is mended. */
  fallBehind(family: IpFamily): void {
    this.stuck.add(family);
    this.change(family, 0);
  }

  /** Applies what waits, and from now on whatever comes. */
  mend(): void {
    this.stuck.clear();
    for (const family of families) if (this.#levels[family].pendingSince !== null) this.#apply(family);
  }

  /** The process ends, and the next one lists and applies everything anew. */
  restart(): void {
    this.#reporter.stop();
    this.#reporter = this.#startReporter();
    this.stuck.clear();
    for (const family of families) this.#apply(family);
  }

  #apply(family: IpFamily): void {
    if (this.stuck.has(family)) return;
    this.#set(family, { pendingSince: null, lastUpdated: this.#parts.stage.clock.now() });
  }

  #set(family: IpFamily, change: Partial<FamilyHealth>): void {
    this.#levels = { ...this.#levels, [family]: { ...this.#levels[family], ...change } };
    this.#reporter.tell(this.#levels);
  }

  #startReporter(): Reporter {
    const { stage, chance } = this.#parts;
    return createReporter({ send: this.#send, clock: stage.clock, random: chance.random });
  }

  readonly #send: SendReport = async (report) => {
    const { stage, node } = this.#parts;
    const subject = stage.subjects.rpcSend(`proxier/_/${node}`);
    const { data, headers } = await this.bus.request(subject, encodeJson(report), { timeoutMs: 4_000 });
    const refusal = headerOf(headers, 'Orrery-Error');
    if (refusal !== undefined) throw new Error(refusal);
    const { accepted, reason = '' } = decode(data) as { accepted?: unknown; reason?: string };
    if (accepted !== true) throw new Error(`not taken: ${reason}`);
    this.heardAt = stage.clock.now();
    this.isForgotten = false;
  };
}
