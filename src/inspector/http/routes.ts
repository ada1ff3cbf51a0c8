/**
 * The paths of a replica's HTTP and their answers, as a table. No sockets, no library: values in, values out.
 */

import type { HttpAnswerer, HttpPath, HttpReply } from '../../actors/feature.ts';
import type { MessageForms } from '../../actors/message-forms.ts';
import type { Clock } from '../../base/clock.ts';
import { notAllowed } from '../../base/config-values.ts';
import { attempt } from '../../base/errors.ts';
import { actorId, parseActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import {
  type ControlPort,
  healths,
  type ListRequest,
  type Readiness,
  type StoredPort,
} from '../../base/views.ts';
import type { Chart } from '../../machines/chart.ts';
import { machineView } from '../charts/machine-view.ts';
import { deadLetterRoutes } from './dead-letter-routes.ts';
import { type EventParts, eventRoutes } from './event-routes.ts';
import { jsonAnswer, problem } from './http-answer.ts';
import type { Route } from './http-route.ts';
import { type PageParts, pageRoutes } from './page-routes.ts';

export interface HttpParts extends PageParts, EventParts {
  readonly control: ControlPort;
  readonly letters: Pick<StoredPort, 'dead' | 'resend' | 'drop'>;
  readonly readiness: () => Readiness;
  /** Whether this replica's pipelines keep up. */
  readonly health: (endpoint: 'healthz' | 'livez') => HttpReply;
  /** Paths of features, open like health. */
  readonly featurePaths: ReadonlyArray<HttpPath & { readonly answer: HttpAnswerer }>;
  /** All charts, including those of a replica's own life. */
  readonly charts: readonly Chart[];
  /** The messages that people may send to actors, by kind; absent: unknown. */
  readonly messages?: ReadonlyMap<string, MessageForms>;
  readonly metrics: { text(): Promise<{ readonly contentType: string; readonly body: string }> };
  /** Whether metrics need a token, as the API does; default: they do not. */
  readonly metricsAuth?: 'kubernetes' | 'none';
  readonly clock: Clock;
}

export function routes(parts: HttpParts): readonly Route[] {
  const kinds = parts.charts.filter(({ durable }) => durable).map(({ name }) => name);
  return [
    ...openRoutes(parts),
    ...apiRoutes(parts, kinds),
    ...eventRoutes(parts, kinds),
    ...deadLetterRoutes(parts.letters),
    ...pageRoutes(parts),
  ];
}

function openRoutes(parts: HttpParts): Route[] {
  const { readiness, metrics } = parts;
  const open = (path: string, about: string, answer: Route['answer']): Route => ({
    path,
    about,
    open: true,
    answer,
  });
  return [
    open('/livez', 'whether this replica keeps up with its input', () => parts.health('livez')),
    open('/healthz', 'the same, and whether its node may get traffic', () => parts.health('healthz')),
    ...parts.featurePaths.map(({ path, about, answer }) => open(path, about, ({ params }) => answer(params))),
    open('/readyz', '200 once connected, caught up and settled; else 503 with the reasons', () => {
      const state = readiness();
      return jsonAnswer(state.ready ? 200 : 503, state);
    }),
    {
      path: '/metrics',
      about: 'Prometheus; with `--metrics-auth kubernetes` by the rule of the API',
      open: parts.metricsAuth !== 'kubernetes',
      answer: async () => {
        const { contentType, body } = await metrics.text();
        return { status: 200, contentType, headers: {}, body };
      },
    },
  ];
}

function apiRoutes({ control, charts, messages }: HttpParts, kinds: readonly string[]): Route[] {
  const api = (path: string, about: string, answer: Route['answer']): Route => ({
    path: `/api/v1/${path}`,
    about,
    open: false,
    answer,
  });
  return [
    api(
      'actors',
      'actors of the whole cluster; `kind`, `namespace`, `state`, `health`, `facts`, `limit`, `after`',
      async ({ query }) => jsonAnswer(200, await control.list(readListRequest(query, kinds))),
    ),
    api(
      'actors/:kind/:ns/:name',
      'one actor in full',
      async ({ params: { kind = '', ns = '', name = '' } }) => {
        if (!kinds.includes(kind)) return problem(404, 'MESSAGE_UNKNOWN_KIND', `there is no kind ${kind}`);
        const view = await control.get(actorId(kind, ns, name));
        return view
          ? jsonAnswer(200, view)
          : problem(404, 'ACTOR_MISSING', `there is no actor ${kind}/${ns}/${name}`);
      },
    ),
    api('shards', 'replicas, and who owns which shard', async () => jsonAnswer(200, await control.shards())),
    api('inspect', 'WebSocket: the live feed ([inspector.md](inspector.md))', () => ({
      ...problem(426, 'UPGRADE_REQUIRED', 'this is a WebSocket: ask for an upgrade'),
      headers: { Upgrade: 'websocket' },
    })),
    api('machines', 'the statecharts', () =>
      jsonAnswer(200, {
        machines: charts.map(({ name, version, description, durable }) => ({
          name,
          version,
          description,
          // Other charts belong to a replica's own life and have no actors.
          isKind: durable === true,
        })),
      }),
    ),
    api(
      'machines/:name',
      'one statechart in full, and the messages that people may send to its actors, as JSON Schema',
      ({ params: { name = '' } }) => {
        const chart = charts.find((one) => one.name === name);
        return chart
          ? jsonAnswer(200, machineView(chart, messages?.get(name)))
          : problem(404, 'NOT_FOUND', `there is no machine ${name}`);
      },
    ),
  ];
}

const listParameters = ['kind', 'namespace', 'state', 'health', 'facts', 'limit', 'after'];

/** @throws OrreryError USAGE with the parameter, its value and what is allowed */
function readListRequest(query: Readonly<Record<string, string>>, kinds: readonly string[]): ListRequest {
  const wrong = (name: string, allowed: string) => notAllowed(name, query[name], allowed);
  const unknown = Object.keys(query).find((name) => !listParameters.includes(name));
  if (unknown !== undefined) throw wrong(unknown, `the parameters ${listParameters.join(', ')}`);
  const { limit, kind, health, facts, after, ...rest } = query;
  if (kind !== undefined && !kinds.includes(kind)) throw wrong('kind', kinds.join(', '));
  const count = limit === undefined ? limits.listActors : Number(limit);
  if (!Number.isInteger(count) || count < 1 || count > limits.listActors) {
    throw wrong('limit', `a whole number from 1 to ${limits.listActors}`);
  }
  if (after !== undefined && attempt(() => parseActorId(after), null) === null)
    throw wrong('after', 'KIND/NAMESPACE/NAME, such as pod/shop/web-0: `next` of the page before');
  const known = healths.find((one) => one === health);
  if (health !== undefined && known === undefined) throw wrong('health', healths.join(', '));
  if (facts !== undefined && facts !== 'true' && facts !== 'false') throw wrong('facts', 'true, false');
  return {
    ...rest,
    ...(after === undefined ? {} : { after }),
    ...(kind === undefined ? {} : { kind }),
    ...(known === undefined ? {} : { health: known }),
    ...(facts === 'true' ? { facts: true } : {}),
    limit: count,
  };
}
