/**
 * The live feed in the protocol of the Stately inspector (`?protocol=stately`): `@xstate.actor`,
 * `@xstate.event`, `@xstate.snapshot`, one JSON message each, for any tool that understands them.
 *
 * Each Orrery actor is a root, with its id as the session id. All actors of the cluster are sent first, then
 * each step as its event and the resulting snapshot. `?actor=<id>`, repeatable, restricts the feed to those.
 */

import type { Clock } from '../../base/clock.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { ActorView, ControlPort, LiveRow, LiveStep } from '../../base/views.ts';
import { senderOf } from '../../base/words.ts';
import type { Subscription } from '../../bus/bus.ts';
import type { Chart } from '../../machines/chart.ts';
import { machineView } from '../charts/machine-view.ts';
import type { LiveLine, LiveSession } from './live.ts';
import type { LiveWatch } from './live-watch.ts';

/** The release of @statelyai/inspect with this protocol. */
const version = '0.7.1';
/**
 * The contexts of this many actors are read at the start; others start with the state, and get their context
 * with the next step.
 */
const contextsAtFirst = 200;
const readsAtOnce = 8;

export interface StatelyParts {
  readonly liveWatch: LiveWatch;
  readonly control: Pick<ControlPort, 'get'>;
  readonly clock: Clock;
  /** All charts, including those of a replica's own life. */
  readonly charts: readonly Chart[];
}

/** @param only the actors to include; empty: all */
export function startStately(parts: StatelyParts, only: readonly ActorId[], line: LiveLine): LiveSession {
  const stately = new Stately(parts, line);
  const watched = only.slice(0, limits.inspectActors);
  const subscriptions = watched.length > 0 ? watched.map((id) => stately.watch(id)) : stately.watchAll();
  return {
    // The protocol's clients only listen.
    take() {},
    end: () => {
      stately.end();
      for (const subscription of subscriptions) subscription.stop();
    },
  };
}

class Stately {
  readonly #parts: StatelyParts;
  readonly #line: LiveLine;
  /** Actors that the client knows. */
  readonly #told = new Set<ActorId>();
  /** Those that are read for it, or wait for that. */
  readonly #asked = new Set<ActorId>();
  readonly #waiting: ActorId[] = [];
  #reads = 0;
  #contexts = contextsAtFirst;
  #ended = false;

  constructor(parts: StatelyParts, line: LiveLine) {
    this.#parts = parts;
    this.#line = line;
  }

  watchAll(): Subscription[] {
    const { liveWatch } = this.#parts;
    const tell = (ids: Iterable<ActorId>) => {
      for (const id of ids) if (liveWatch.rows.has(id)) this.#introduce(id);
    };
    const rows = liveWatch.watchRows({ changed: tell, cluster: () => {} });
    tell(liveWatch.rows.keys());
    return [rows, liveWatch.watchSteps('all', (told) => this.#tellStep(told))];
  }

  watch(id: ActorId): Subscription {
    this.#introduce(id);
    return this.#parts.liveWatch.watchSteps(id, (told) => this.#tellStep(told));
  }

  end(): void {
    this.#ended = true;
    this.#waiting.length = 0;
  }

  #introduce(id: ActorId): void {
    if (this.#told.has(id) || this.#asked.has(id)) return;
    const row = this.#parts.liveWatch.rows.get(id);
    if (this.#contexts <= 0 && row) this.#tellActor(id, { state: row.state });
    else {
      this.#contexts--;
      this.#asked.add(id);
      this.#waiting.push(id);
      this.#readOn();
    }
  }

  #readOn(): void {
    while (this.#reads < readsAtOnce) {
      const id = this.#waiting.shift();
      if (id === undefined) return;
      this.#reads++;
      this.#parts.control
        .get(id)
        .then(
          // What a step has told meanwhile is newer.
          (view) => view && !this.#told.has(id) && this.#tellActor(id, view),
          // Its shard is moving. Like one that is not there, it is introduced with its next step.
          () => {},
        )
        .finally(() => {
          this.#asked.delete(id);
          this.#reads--;
          this.#readOn();
        });
    }
  }

  #tellActor(id: ActorId, view: Pick<ActorView | LiveRow, 'state'> & { readonly context?: unknown }): void {
    const { kind } = parseActorId(id);
    const chart = this.#parts.charts.find(({ name }) => name === kind);
    const isSent = this.#send({
      type: '@xstate.actor',
      name: id,
      definition: chart ? JSON.stringify(machineView(chart).config) : undefined,
      parentId: undefined,
      snapshot: snapshotOf(view.state, view.context, false),
      ...this.#base(id, `${id}/actor`, this.#parts.clock.now()),
    });
    if (isSent) this.#told.add(id);
  }

  #tellStep({ step, actor }: LiveStep): void {
    const { id, rev, event, cause, to, at, context } = step;
    if (!this.#told.has(id)) this.#tellActor(id, { state: step.from ?? to, context });
    this.#send({
      type: '@xstate.event',
      event,
      sourceId: senderOf(cause)?.id,
      ...this.#base(id, `${id}/${rev}/event`, at),
    });
    this.#send({
      type: '@xstate.snapshot',
      event,
      snapshot: snapshotOf(to, context, actor.machine === ''),
      ...this.#base(id, `${id}/${rev}`, at),
    });
  }

  #base(id: ActorId, messageId: string, at: number) {
    return { sessionId: id, rootId: id, id: messageId, createdAt: String(at), _version: version };
  }

  /**
   * What a client leaves unread for too long is dropped: an actor's next snapshot contains everything.
   *
   * @returns whether it was sent
   */
  #send(message: object): boolean {
    if (this.#ended || this.#line.unread() > limits.inspectUnreadBytes) return false;
    this.#line.send(JSON.stringify(message));
    return true;
  }
}

function snapshotOf(state: string, context: unknown, isDone: boolean) {
  return {
    status: isDone ? 'done' : 'active',
    value: stateValue(state),
    context: context ?? {},
    children: {},
    historyValue: {},
  };
}

/**
 * xstate's form of a state: `routes.sampling,endpoints.ignored` → `{routes: 'sampling', endpoints:
 * 'ignored'}`.
 */
export function stateValue(state: string): unknown {
  const regions = state.split(',').map((path) => path.split('.'));
  if (regions.length === 1 && regions[0]?.length === 1) return state;
  const tails = new Map<string, string[]>();
  for (const [first = '', ...rest] of regions)
    tails.set(first, [...(tails.get(first) ?? []), rest.join('.')]);
  return Object.fromEntries(
    [...tails].map(([name, inner]) => [
      name,
      inner.every((path) => path === '') ? {} : stateValue(inner.join(',')),
    ]),
  );
}
