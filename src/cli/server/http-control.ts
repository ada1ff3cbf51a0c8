/**
 * The control port over a replica's HTTP, for people without access to NATS.
 *
 * Promise: an error answer becomes an OrreryError with the replica's code, or says who refused and what to
 * do. Absent: the connection (http-exchange.ts).
 */
import { type ErrorCode, errorCodes, OrreryError } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import type {
  ActorView,
  ControlPort,
  DeadPage,
  DropAnswer,
  HistoryPage,
  ListAnswer,
  SendAnswer,
  SessionView,
  ShardsView,
  StoredPort,
} from '../../base/views.ts';
import { exchange, type HttpQuestion, type Way } from './http-exchange.ts';

export interface HttpControl extends ControlPort, StoredPort {
  session(): Promise<SessionView>;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export function createHttpControl(way: Way): HttpControl {
  const ask = async <T>(question: HttpQuestion): Promise<T> => {
    const answer = await answerOf(way, question);
    if (answer.status >= 200 && answer.status < 300) return answer.body as T;
    throw refusal(way, question, answer);
  };
  const look = <T>(path: string, query: object = {}) =>
    ask<T>({ method: 'GET', path: withQuery(path, query) });
  return {
    session: () => look<SessionView>('/api/v1/session'),
    get: (id) => look<ActorView>(actorPath(id)).catch(missingAs<ActorView | null>(null)),
    list: (wanted) => look<ListAnswer>('/api/v1/actors', wanted),
    history: ({ since, ...wanted }) => look<HistoryPage>('/api/v1/events', { from: since, ...wanted }),
    dead: (wanted) => look<DeadPage>('/api/v1/dead', wanted),
    shards: () => look<ShardsView>('/api/v1/shards'),
    send: (id, event) =>
      ask<SendAnswer>({ method: 'POST', path: `${actorPath(id)}/events`, body: event }).catch(
        missingAs<SendAnswer>({ accepted: false, code: 'ACTOR_MISSING', reason: `there is no actor ${id}` }),
      ),
    resend: (letter) => decided<SendAnswer>(way, { method: 'POST', path: `/api/v1/dead/${letter}/resend` }),
    drop: (letter) => decided<DropAnswer>(way, { method: 'DELETE', path: `/api/v1/dead/${letter}` }),
  };
}

function actorPath(id: ActorId): string {
  const { kind, namespace, name } = parseActorId(id);
  return `/api/v1/actors/${[kind, namespace, name].map(encodeURIComponent).join('/')}`;
}

/** Numbers are rounded, because the time line uses whole milliseconds. */
function withQuery(path: string, query: object): string {
  const given = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, String(typeof value === 'number' ? Math.floor(value) : value)]);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(Object.fromEntries(given))}`;
}

/** The Kubernetes API picks a replica by chance, for a while also one that has just died. */
const triesOfRead = 5;

async function answerOf(way: Way, question: HttpQuestion): Promise<Answer> {
  const tries = question.method === 'GET' ? triesOfRead : 1;
  for (let left = tries - 1; ; left -= 1) {
    const answer = await answerOnce(way, question);
    if (left === 0 || !isMissed(answer)) return answer;
  }
}

/** The Kubernetes API did not get through to the replica that it picked. */
const isMissed = ({ status, body }: Answer): boolean =>
  status === 503 && body.kind === 'Status' && /trying to reach service/.test(String(body.message));

async function answerOnce(way: Way, question: HttpQuestion): Promise<Answer> {
  const { status, text } = await exchange(way, question);
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null) return { status, body: { ...body } };
  } catch {
    // Reported below.
  }
  const bare = question.path.split('?', 1)[0];
  throw new OrreryError(
    'SERVER_UNREACHABLE',
    `${way.name} is not Orrery: ${question.method} ${bare} was answered with ${status} and no JSON`,
  );
}

/** A letter that no longer exists is an answer, too. */
async function decided<T extends object>(way: Way, question: HttpQuestion): Promise<T> {
  const answer = await answerOf(way, question);
  if (answer.status === 200 || ('reason' in answer.body && !('kind' in answer.body))) return answer.body as T;
  throw refusal(way, question, answer);
}

/** A refusal by Orrery, or by the Kubernetes API in front of it. */
function refusal(way: Way, { method }: HttpQuestion, { status, body }: Answer): OrreryError {
  const { code, message } = own(body);
  if (code !== undefined && Object.hasOwn(errorCodes, code)) {
    return new OrreryError(code as ErrorCode, message);
  }
  const words = message === '' ? `status ${status}` : message;
  const help = isMissed({ status, body }) ? missedHint : body.kind === 'Status' ? kubernetesHint(status) : '';
  return new OrreryError(
    'SERVER_REFUSED',
    `${way.name} refused: ${words}${help || hint(status, method, words)}`,
  );
}

function own(body: Answer['body']): { readonly code?: string; readonly message: string } {
  const { error, message } = body;
  if (typeof error === 'object' && error !== null && 'code' in error && 'message' in error) {
    return { code: String(error.code), message: String(error.message) };
  }
  return { message: typeof message === 'string' ? message : '' };
}

const missedHint = ' (the replica it picked does not answer, perhaps it has just died: try again)';

/** Where the Kubernetes API itself answered, because it did not get through to Orrery. */
function kubernetesHint(status: number): string {
  if (status === 404) return ' (is Orrery installed there? --server kube:NAMESPACE names another place)';
  return status === 503 ? ' (no replica is ready: `kubectl get pods` in that namespace says why)' : '';
}

function hint(status: number, method: string, words: string): string {
  const right = method === 'GET' ? 'get' : 'update';
  if (status === 401) {
    const maker = words.includes('orrery token') ? '' : '; `orrery token` makes one';
    return ` (give a token with --token-file or ORRERY_TOKEN${maker})`;
  }
  if (status === 403 && !words.includes('ClusterRole'))
    return ` (the ClusterRole orrery-inspector-${right === 'get' ? 'view' : 'operate'} allows it)`;
  return '';
}

function missingAs<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof OrreryError && error.code === 'ACTOR_MISSING') return instead;
    throw error;
  };
}
