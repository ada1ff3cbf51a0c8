/** The page's requests to the replica's HTTP. */

import type { StepName } from '../../actors/step-order.ts';
import type { ActorId } from '../../base/ids.ts';
import type {
  DeadPage,
  DropAnswer,
  HistoryPage,
  HistoryView,
  MachineView,
  SendAnswer,
  SessionView,
} from '../../base/views.ts';
import type { NewestPage } from '../events/newest-events.ts';
import type { SequenceView } from '../events/sequence.ts';
import { type Answer, readJson } from './answer.ts';

/** The kinds of actors that the release knows; null: the request failed. */
export async function readKinds(): Promise<readonly string[] | null> {
  const answer = await call<{ machines: ReadonlyArray<{ name: string; isKind?: boolean }> }>(
    'GET',
    'machines',
  );
  if ('refused' in answer) return null;
  return answer.ok.machines.flatMap(({ name, isKind }) => (isKind ? [name] : [])).sort();
}

/** The messages that people may send to actors of the kind; null: none, or the request failed. */
export async function readForms(kind: string): Promise<NonNullable<MachineView['messages']> | null> {
  const answer = await call<MachineView>('GET', `machines/${encodeURIComponent(kind)}`);
  return 'ok' in answer ? (answer.ok.messages ?? null) : null;
}

interface WantedEvents {
  readonly from: number;
  readonly to: number;
  readonly kind: string;
  readonly text: string;
}

/** From then on, oldest first. */
export const readEvents = ({ after, ...wanted }: WantedEvents & { readonly after: number | null }) =>
  call<HistoryPage>('GET', `events?${eventsQuery({ ...wanted, after: after ?? '' })}`);

/** Until then, newest first. */
export const readNewest = (wanted: Omit<WantedEvents, 'from'>) =>
  call<NewestPage>('GET', `events?${eventsQuery({ ...wanted, order: 'newest' })}`);

function eventsQuery(given: object): URLSearchParams {
  const set = Object.entries(given).flatMap<[string, string]>(([name, value]) =>
    value === '' ? [] : [[name, String(value)]],
  );
  return new URLSearchParams(set);
}

export function readSequence({ id, rev, by }: StepName): Promise<Answer<SequenceView>> {
  const time = by === null ? {} : { at: String(by) };
  return call<SequenceView>(
    'GET',
    `events/sequence?${new URLSearchParams({ id, rev: String(rev), ...time })}`,
  );
}

export const readSession = () => call<SessionView>('GET', 'session');
export const signIn = (token: string) => call<object>('POST', 'session', { token });
export const signOut = () => call<object>('DELETE', 'session');
export const readHistory = (id: ActorId) => call<HistoryView>('GET', `${pathOf(id)}/history`);
export const sendEvent = (id: ActorId, event: object) =>
  call<SendAnswer>('POST', `${pathOf(id)}/events`, event);

export const readLetters = (after?: number) =>
  call<DeadPage>('GET', after === undefined ? 'dead' : `dead?after=${after}`);
export const resendLetter = (letter: number) => call<SendAnswer>('POST', `dead/${letter}/resend`, {});
export const dropLetter = (letter: number) => call<DropAnswer>('DELETE', `dead/${letter}`);

function pathOf(id: ActorId): string {
  const [kind = '', namespace = '', ...name] = id.split('/');
  return ['actors', kind, namespace, name.join('/')].map(encodeURIComponent).join('/');
}

async function call<T>(method: string, path: string, body?: object): Promise<Answer<T>> {
  try {
    const answer = await fetch(`/api/v1/${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    });
    const value = readJson(await answer.text()) as { error?: { message?: string } } | null;
    if (answer.ok) return { ok: value as T };
    return { refused: { status: answer.status, reason: value?.error?.message ?? answer.statusText } };
  } catch {
    return { refused: { status: 0, reason: 'the replica does not answer' } };
  }
}
