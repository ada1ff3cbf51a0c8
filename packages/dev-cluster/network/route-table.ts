/**
 * What the routing of one Service knows, which lags behind what is true: every change of its endpoints is
 * learned later.
 *
 * Owns the timers of changes that are true but not yet known. Promises: a change becomes known after its
 * delay, not sooner. A change that is taken back before that never becomes known. All ports of one address
 * are learned together.
 */
import type { Clock, Timer } from '../../../src/base/clock.ts';
import type { EndpointSliceObject } from '../objects.ts';

/** `draining`: it serves but is being deleted; used only while nothing is ready (KEP-1669). */
export type TargetState = 'ready' | 'draining';

export interface Target {
  /** Name of the Service's port; empty for an unnamed one. */
  readonly portName: string;
  readonly address: string;
  readonly port: number;
  readonly state: TargetState;
}

export interface RouteChange {
  readonly type: 'programmed' | 'withdrawn';
  readonly address: string;
}

export interface RouteTable {
  /** What is true now; `isKnown` for what existed before the routing started. */
  want(targets: readonly Target[], isKnown: boolean): void;
  /** Where a connection to that port may go, as far as the routing knows. */
  targets(portName: string): readonly Target[];
  stop(): void;
}

export interface RouteTableParts {
  readonly clock: Clock;
  /**
   * How long it takes to learn of an endpoint that came (`add`) or went (`remove`), ms; drawn for each
   * change.
   */
  readonly delayMs: (kind: 'add' | 'remove') => number;
  readonly onChange: (changes: readonly RouteChange[]) => void;
}

export function createRouteTable(parts: RouteTableParts): RouteTable {
  const known = new Map<string, Target>();
  /** The results of `targets`, until something is learned. */
  const choices = new Map<string, readonly Target[]>();
  const pending = new Map<string, { target: Target | undefined; timer: Timer }>();

  const learn = (key: string, target: Target | undefined) => {
    pending.delete(key);
    const before = known.get(key);
    if (target === undefined) known.delete(key);
    else known.set(key, target);
    choices.clear();
    const address = (target ?? before)?.address ?? '';
    const wasReady = before?.state === 'ready';
    const isReady = target?.state === 'ready';
    const type = isReady ? 'programmed' : 'withdrawn';
    const isWhole = wasReady !== isReady && !isPartial(address, isReady);
    parts.onChange(isWhole ? [{ type, address }] : []);
  };
  /** Whether other ports of the address still differ. */
  const isPartial = (address: string, isReady: boolean) =>
    isReady
      ? [...pending.values()].some(({ target }) => target?.address === address && target.state === 'ready')
      : [...known.values()].some((target) => target.address === address && target.state === 'ready');

  return {
    want(targets, isKnown) {
      const wanted = new Map(targets.map((target) => [keyOf(target), target]));
      const delays = new Map<string, number>();
      const delayOf = (kind: 'add' | 'remove', address: string) => {
        if (isKnown) return 0;
        const drawn = delays.get(`${kind} ${address}`) ?? parts.delayMs(kind);
        delays.set(`${kind} ${address}`, drawn);
        return drawn;
      };
      for (const key of new Set([...known.keys(), ...pending.keys(), ...wanted.keys()])) {
        const target = wanted.get(key);
        const coming = pending.get(key);
        const last = coming === undefined ? known.get(key) : coming.target;
        if (last?.state === target?.state) continue;
        coming?.timer.cancel();
        pending.delete(key);
        if (known.get(key)?.state === target?.state) continue;
        const address = (target ?? known.get(key))?.address ?? '';
        const delay = delayOf(target?.state === 'ready' ? 'add' : 'remove', address);
        const timer = parts.clock.after(delay, () => learn(key, target));
        pending.set(key, { target, timer });
      }
    },
    targets(portName) {
      const chosen = choices.get(portName) ?? choose([...known.values()], portName);
      choices.set(portName, chosen);
      return chosen;
    },
    stop() {
      for (const { timer } of pending.values()) timer.cancel();
      pending.clear();
    },
  };
}

function choose(known: readonly Target[], portName: string): readonly Target[] {
  const of = known.filter((target) => target.portName === portName);
  const ready = of.filter((target) => target.state === 'ready');
  return ready.length > 0 ? ready : of;
}

/** The targets that a Service's slices name, whoever wrote them; ready in one slice means ready. */
export function targetsOf(slices: readonly EndpointSliceObject[]): Target[] {
  const targets = new Map<string, Target>();
  for (const slice of slices)
    for (const endpoint of slice.endpoints ?? []) {
      const { ready, serving, terminating } = endpoint.conditions ?? {};
      const state = ready !== false ? 'ready' : serving === true && terminating === true ? 'draining' : null;
      if (state === null) continue;
      for (const { name = '', port, protocol = 'TCP' } of slice.ports ?? [])
        for (const address of protocol === 'TCP' && port !== undefined ? endpoint.addresses : []) {
          const target = { portName: name, address, port: port ?? 0, state } as const;
          if (targets.get(keyOf(target))?.state !== 'ready') targets.set(keyOf(target), target);
        }
    }
  return [...targets.values()];
}

function keyOf(target: Target): string {
  return `${target.portName} ${target.address} ${target.port}`;
}
