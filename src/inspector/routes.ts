/**
 * The paths of a replica's HTTP and what they answer, as a table. No sockets, no library: values in, values out.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { AccessVerb } from '../base/access.ts';
import type { Clock } from '../base/clock.ts';
import { OrreryError } from '../base/errors.ts';
import { actorId, actorKinds, isActorKind } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { ControlPort, ListRequest, Readiness } from '../base/views.ts';
import {
  type HealthAnswer,
  type HealthEndpoint,
  type HealthPicture,
  healthAnswer,
  proxierPicture,
} from '../features/proxiers/health-body.ts';
import type { Chart } from '../machines/index.ts';
import { type HttpAnswer, jsonAnswer, problem } from './http-answer.ts';
import { machineView } from './machine-view.ts';
import { type PageParts, pageRoutes } from './page-routes.ts';

export interface HttpParts extends PageParts {
  readonly control: ControlPort;
  readonly readiness: () => Readiness;
  /** What this replica's pipelines look like. */
  readonly health: () => HealthPicture;
  /** `--proxier-health-timeout`, ms. */
  readonly proxierTimeoutMs: number;
  readonly countHealth: (subject: 'replica' | 'proxier', endpoint: HealthEndpoint, code: number) => void;
  readonly machines: Readonly<Record<string, Chart>>;
  readonly metrics: { text(): Promise<{ readonly contentType: string; readonly body: string }> };
  readonly clock: Clock;
}

export interface HttpRequest {
  readonly headers: IncomingHttpHeaders;
  /** As JSON gave it; undefined if there is none. */
  readonly body: unknown;
  readonly token: string | null;
  /** Whose token it is, where that was asked. */
  readonly user: string;
  /** Why the caller may not look; only `shell` paths are asked all the same. */
  readonly refusal: HttpAnswer | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

export interface Route {
  readonly path: string;
  /** What is there, for docs/operating.md. */
  readonly about: string;
  /** Absent: GET, and HEAD with it. */
  readonly method?: 'POST' | 'DELETE';
  /** Answered without asking who calls; `shell`: it is asked, and the path answers those too who may not look. */
  readonly open: boolean | 'shell';
  /** What the caller must be allowed to do; absent: `get`. */
  readonly verb?: AccessVerb;
  readonly answer: (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>;
}

export function routes(parts: HttpParts): readonly Route[] {
  return [...openRoutes(parts), ...apiRoutes(parts), ...pageRoutes(parts)];
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
    open('/livez', 'whether this replica keeps up with its input', () => ownHealth(parts, 'livez')),
    open('/healthz', 'the same, and whether its node may get traffic', () => ownHealth(parts, 'healthz')),
    open(
      '/proxiers/:node/livez',
      "whether the node's service proxy keeps up; any replica answers",
      (request) => proxierHealth(parts, 'livez', request),
    ),
    open('/proxiers/:node/healthz', 'the same, and whether the node may get traffic', (request) =>
      proxierHealth(parts, 'healthz', request),
    ),
    open('/readyz', '200 once connected, caught up and settled; else 503 with the reasons', () => {
      const state = readiness();
      return jsonAnswer(state.ready ? 200 : 503, state);
    }),
    open('/metrics', 'Prometheus', async () => {
      const { contentType, body } = await metrics.text();
      return { status: 200, contentType, headers: {}, body };
    }),
  ];
}

function apiRoutes({ control, machines }: HttpParts): Route[] {
  const api = (path: string, about: string, answer: Route['answer']): Route => ({
    path: `/api/v1/${path}`,
    about,
    open: false,
    answer,
  });
  return [
    api(
      'actors',
      'actors of the whole cluster; `kind`, `namespace`, `state`, `limit`, `after`',
      async ({ query }) => jsonAnswer(200, await control.list(readListRequest(query))),
    ),
    api(
      'actors/:kind/:ns/:name',
      'one actor in full',
      async ({ params: { kind = '', ns = '', name = '' } }) => {
        if (!isActorKind(kind)) return problem(404, 'MESSAGE_UNKNOWN_KIND', `there is no kind ${kind}`);
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
        machines: Object.values(machines).map(({ name, version, description }) => ({
          name,
          version,
          description,
        })),
      }),
    ),
    api('machines/:name', 'one statechart in full', ({ params: { name = '' } }) => {
      const chart = Object.hasOwn(machines, name) ? machines[name] : undefined;
      return chart
        ? jsonAnswer(200, machineView(chart))
        : problem(404, 'NOT_FOUND', `there is no machine ${name}`);
    }),
  ];
}

const listParameters = ['kind', 'namespace', 'state', 'limit', 'after'];

/** @throws OrreryError USAGE that names the parameter, its value and what is allowed */
function readListRequest(query: Readonly<Record<string, string>>): ListRequest {
  const wrong = (name: string, allowed: string) =>
    new OrreryError('USAGE', `${name}: ${JSON.stringify(query[name])} is not allowed; allowed: ${allowed}`);
  const unknown = Object.keys(query).find((name) => !listParameters.includes(name));
  if (unknown !== undefined) throw wrong(unknown, `the parameters ${listParameters.join(', ')}`);
  const { limit, kind, ...rest } = query;
  if (kind !== undefined && !isActorKind(kind)) throw wrong('kind', actorKinds.join(', '));
  const count = limit === undefined ? limits.listActors : Number(limit);
  if (!Number.isInteger(count) || count < 1 || count > limits.listActors) {
    throw wrong('limit', `a whole number from 1 to ${limits.listActors}`);
  }
  return { ...rest, ...(kind === undefined ? {} : { kind }), limit: count };
}

function ownHealth({ health, clock, countHealth }: HttpParts, endpoint: HealthEndpoint): HttpAnswer {
  const answer = healthAnswer(endpoint, health(), clock.now());
  countHealth('replica', endpoint, answer.status);
  return httpAnswer(answer);
}

/** The owner tells what it knows; the time and the timeout are this replica's. */
async function proxierHealth(
  { control, clock, proxierTimeoutMs, countHealth }: HttpParts,
  endpoint: HealthEndpoint,
  { params: { node = '' } }: HttpRequest,
): Promise<HttpAnswer> {
  const view = await control.get(actorId('proxier', '_', node), { history: false });
  if (!view) {
    countHealth('proxier', endpoint, 404);
    return problem(404, 'ACTOR_MISSING', `nothing was ever heard of a proxier on node ${node}`);
  }
  const answer = healthAnswer(endpoint, proxierPicture(view, proxierTimeoutMs), clock.now());
  countHealth('proxier', endpoint, answer.status);
  return httpAnswer(answer);
}

function httpAnswer({ status, headers, body }: HealthAnswer): HttpAnswer {
  return { status, contentType: headers['Content-Type'], headers, body };
}
