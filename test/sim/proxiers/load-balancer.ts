/**
 * A load balancer that asks one replica after another about every node: each second, or as seldom as clouds
 * do by default.
 */
import type { SimReplica } from '../../../packages/testing/replicas/sim-replica.ts';
import type { FeatureRun } from '../../../src/actors/feature.ts';
import type { WorldParts } from '../features/feature-world.ts';

export type Endpoint = 'healthz' | 'livez';

export interface Answered {
  readonly node: string;
  readonly endpoint: Endpoint;
  readonly replica: string;
  readonly status: number;
  /** When it was asked, world time. */
  readonly askedAt: number;
}

export interface LoadBalancer {
  /** What the replica of this incarnation answers with. */
  serve(incarnation: string, http: FeatureRun['http']): void;
  /** The last answer, by node and endpoint. */
  readonly answers: ReadonlyMap<string, Answered>;
  onAnswer(listener: (answered: Answered) => void): void;
  /** An answer is at most this old while all is well, ms. */
  readonly freshMs: number;
  begin(): void;
}

export function createLoadBalancer(
  { stage, replicas, profile }: Pick<WorldParts, 'stage' | 'replicas' | 'profile'>,
  nodes: readonly string[],
): LoadBalancer {
  const { clock } = stage;
  const everyMs = profile.pace === 'quick' ? 1_000 : 5_000;
  const serving = new Map<string, FeatureRun['http']>();
  const answers = new Map<string, Answered>();
  const listeners: Array<(answered: Answered) => void> = [];
  let turn = 0;
  const incarnationOf = ({ engine }: SimReplica) => engine.directory.incarnation;
  const ask = async (replica: SimReplica, node: string, endpoint: Endpoint) => {
    const askedAt = clock.now();
    const reply = await serving.get(incarnationOf(replica))?.[`/proxiers/:node/${endpoint}`]?.({ node });
    if (reply === undefined) return;
    const answered = { node, endpoint, replica: replica.name, askedAt, status: reply.status };
    const known = answers.get(`${node} ${endpoint}`);
    if (known === undefined || known.askedAt <= askedAt) answers.set(`${node} ${endpoint}`, answered);
    for (const listener of listeners) listener(answered);
  };
  const askAll = () => {
    const running = replicas().filter(({ isRunning }) => isRunning);
    const one = running[turn++ % Math.max(1, running.length)];
    if (one === undefined) return;
    // A replica that does not answer is asked again when its turn comes.
    for (const node of nodes)
      for (const endpoint of ['healthz', 'livez'] as const) ask(one, node, endpoint).catch(() => {});
  };
  return {
    ...{ answers, freshMs: 5 * everyMs },
    serve: (incarnation, http) => void serving.set(incarnation, http),
    onAnswer: (listener) => void listeners.push(listener),
    begin() {
      const again = () => {
        askAll();
        clock.after(everyMs, again);
      };
      again();
    },
  };
}
