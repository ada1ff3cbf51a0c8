/**
 * A feature in one replica: its joins, the runners of its effects, its requests.
 *
 * Promises: an exception in the feature's code hurts only the actor or the request for which it was called
 * (I8); if runs of an effect do not end at their timeout, a limited number is abandoned, and further runs
 * fail at once.
 */
import { safeParse } from 'valibot';
import type { EffectContext, RunnableEffect } from '../actors/effect-runner.ts';
import type { FeatureParts, FeatureRun } from '../actors/feature.ts';
import { featureLimits } from '../actors/feature-limits.ts';
import { noCare } from '../actors/time/care.ts';
import { asError, OrreryError } from '../base/errors.ts';
import { parseActorId } from '../base/ids.ts';
import type { Transition } from '../base/views.ts';
import { decode, encodeJson } from '../bus/codec.ts';
import type { Endpoint } from '../bus/rpc.ts';
import type { AnyEffect } from '../machines/effect.ts';
import type { Effect, Tools } from './effect.ts';
import { Failure } from './failure.ts';
import type { FeatureOptions, RequestEndpoint } from './feature-options.ts';
import { callHttp } from './http-call.ts';
import { type JoinOf, runJoin } from './join.ts';
import { createKinds, kubernetesTools } from './kubernetes/calls.ts';
import { createOpened, type Opened } from './per-replica.ts';
import type { Reports, Watched } from './watch.ts';

export function startFeature(options: FeatureOptions, parts: FeatureParts, reports: Reports): FeatureRun {
  const { name, kinds, requests = {} } = options;
  const { log, engine, clock } = parts;
  reports.report = ({ metadata }, problem, follows) =>
    log.warn(
      { feature: name, namespace: metadata.namespace, name: metadata.name, problem },
      `a feature cannot read an object; ${follows}`,
    );
  const { care = noCare } = engine.parts;
  const pace = engine.parts.paces.ofFeature(name);
  const call = <T>(what: string, work: () => T) => pace.charge(() => care.run(name, what, work));
  reports.call = call;
  reports.clock = clock;
  const opened = createOpened(parts, call);
  const toolsOf = toolbox(options, parts, opened);
  const joins = kinds.flatMap(({ chart, join }) =>
    join === null
      ? []
      : [
          runJoin(carefulJoin(join, chart.name, call), {
            feature: name,
            kind: chart.name,
            world: engine.world,
            tellAgain: (ids) => engine.shards.observe(ids),
            ...{ clock, log },
          }),
        ],
  );
  const own = new Map(
    kinds.flatMap(({ effects }) => effects.map((effect) => [effect.type, effect] as const)),
  );
  return {
    joins,
    effects: [...own.values()].map((effect) => runnable(effect, toolsOf, call)),
    requests: Object.entries(requests).map(([word, request]) =>
      endpointOf(
        options,
        word,
        {
          ...request,
          answer: (...args) => pace.inTurn(() => call(`request ${word}`, () => request.answer(...args))),
        },
        parts,
        toolsOf,
      ),
    ),
    onStep: (transition, context) => tellStep(options, parts, transition, context, call),
    stop: opened.close,
  };
}

type ToolsOf = (context: Pick<EffectContext, 'key' | 'actor' | 'signal' | 'emit'>) => Tools;

function toolbox({ name }: FeatureOptions, parts: FeatureParts, { use }: Opened): ToolsOf {
  const { kube, clock, log, metrics, replica, fetch = globalThis.fetch } = parts;
  const kinds = createKinds(kube, clock);
  const now = () => clock.now();
  const fieldManager = `orrery-${name}`;
  return ({ key, actor, signal, emit }) => ({
    ...{ key, actor, signal, emit, now, log, metrics, use },
    kubernetes: kubernetesTools({ kube, kinds, signal, key, actor, replica, fieldManager, now }),
    http: (request) => callHttp(request, { clock, signal, fetch }),
  });
}

/** Calls code of the feature. */
type Call = <T>(what: string, work: () => T) => T;

function carefulJoin({ facts, relations, ...join }: JoinOf, kind: string, call: Call): JoinOf {
  const careful = Object.entries(relations).map(([name, { of, to }]) => {
    const all = (object: Watched<unknown>) => call(`${kind}: to of ${name}`, () => [...to(object)]);
    return [name, { of, to: all }] as const;
  });
  return {
    ...join,
    relations: Object.fromEntries(careful),
    facts: (...args) => call(`${kind}: facts`, () => facts(...args)),
  };
}

function runnable(effect: Effect, toolsOf: ToolsOf, call: Call): RunnableEffect {
  /** Runs that were abandoned at their timeout and have not ended yet. */
  let left = 0;
  const most = effect.inFlight * featureLimits.runsLeft;
  return {
    type: effect.type,
    async run(asked: AnyEffect, context: EffectContext) {
      if (left >= most)
        throw new Failure(`${left} runs of ${effect.type} have not ended although their time is over`, {
          code: 'STUCK',
        });
      const { type: _, ...params } = asked;
      const running = call(effect.type, () => effect.run(params, toolsOf(context)));
      const leave = () => {
        left += 1;
        const end = () => {
          left -= 1;
        };
        running.then(end, end);
      };
      context.signal.addEventListener('abort', leave, { once: true });
      try {
        const result: unknown = await running;
        return { ...(typeof result === 'object' ? result : {}), type: `${effect.type}.done` };
      } finally {
        context.signal.removeEventListener('abort', leave);
      }
    },
  };
}

function endpointOf(
  { name }: FeatureOptions,
  word: string,
  request: RequestEndpoint,
  { subjects }: FeatureParts,
  toolsOf: ToolsOf,
): Endpoint {
  return {
    name: `${name}-${word}`,
    subject: subjects.rpcFeature(name, word),
    queue: 'orrery',
    async handler({ data, headers }) {
      const body = data.byteLength === 0 ? {} : decode(data, headers['Content-Type']);
      const read = safeParse(request.request, body);
      if (!read.success) throw new OrreryError('MESSAGE_UNREADABLE', `${word}: ${read.issues[0].message}`);
      const key = `${name}/${word}`;
      const { signal } = new AbortController();
      const tools = toolsOf({ key, actor: `${name}/_/_`, signal, emit: () => {} });
      return encodeJson(await request.answer(read.output, tools));
    },
  };
}

function tellStep(
  { kinds, onStep }: FeatureOptions,
  { log, metrics }: FeatureParts,
  { id, from, to, event, at }: Transition,
  context: unknown,
  call: Call,
): void {
  if (onStep === undefined) return;
  const { kind } = parseActorId(id);
  if (!kinds.some(({ chart }) => chart.name === kind)) return;
  try {
    call(`onStep of ${kind}`, () => onStep({ id, from, to, event, at, context }, { metrics, log }));
  } catch (thrown) {
    log.error({ actor: id, error: asError(thrown).message }, 'a feature failed in onStep');
  }
}
