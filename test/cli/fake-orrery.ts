/**
 * A NATS server with one fictitious replica, which answers the request subjects as the test says, so that the
 * command line can be tested as a process on the real wire.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNatsServer } from '../../packages/dev-cluster/processes/nats-server.ts';
import { deadLetterEndpoints } from '../../src/actors/control/dead-letter-desk.ts';
import { pageEndpoints } from '../../src/actors/control/stored-pages.ts';
import { systemClock } from '../../src/base/clock.ts';
import { asError, OrreryError } from '../../src/base/errors.ts';
import type { ActorId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/log.ts';
import type { PlainEvent } from '../../src/base/plain-event.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ControlPort, Transition } from '../../src/base/views.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { contentType, decode, encodeJson } from '../../src/bus/codec.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { serve } from '../../src/bus/rpc.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';

export interface FakeOrrery {
  readonly url: string;
  readonly cluster: string;
  /** A folder of its own, removed at the end. */
  readonly dir: string;
  /** Where a command runs that shall find it. */
  readonly place: { readonly cwd: string; readonly env: Readonly<Record<string, string>> };
  /** Puts a message with the error among the dead letters. */
  died(to: ActorId, message: object, error: string): Promise<number>;
  /** Publishes a transition on the event stream. */
  happened(transition: Transition): Promise<void>;
  stop(): Promise<void>;
}

/** What the row of an actor consists of beside that which a test is about. */
export const plainRow = {
  since: 1,
  owner: 'r1',
  shard: 7,
  rev: 4,
  nextTimer: null,
  lastError: null,
  parked: false,
} as const;

/** Answers of a cluster without actors. */
export const emptyCluster: ControlPort = {
  get: async () => null,
  list: async () => ({ actors: [], next: null, missingShards: [] }),
  shards: async () => ({ replicas: [], shards: [] }),
  send: async () => ({ accepted: false, code: 'ACTOR_MISSING', reason: 'there is none' }),
};

export async function startFakeOrrery(control: ControlPort): Promise<FakeOrrery> {
  const cluster = 'fake';
  const dir = await mkdtemp(join(tmpdir(), 'orrery-cli-'));
  const server = await startNatsServer({ dir });
  const basics = { clock: systemClock, random: systemRandom };
  const bus = await connectNats({
    ...basics,
    servers: [server.url],
    name: 'fake',
    cluster,
    streamReplicas: 1,
  });
  const service = answer(bus, cluster, control);
  const subjects = subjectsOf(cluster);
  return {
    url: server.url,
    cluster,
    dir,
    place: { cwd: dir, env: { NATS_URL: server.url, ORRERY_CLUSTER: cluster } },
    died: async (to, message, error) => {
      const headers = {
        [contentType.header]: contentType.json,
        'Orrery-Error': error,
        'Orrery-Subject': subjects.send(to),
      };
      return (await bus.append(subjects.dead, encodeJson(message), { headers })).sequence;
    },
    happened: async (transition) => {
      const headers = { [contentType.header]: contentType.json };
      await bus.append(subjects.event(transition.id), encodeJson(transition), { headers });
    },
    stop: async () => {
      await service.stop();
      await bus.close();
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

const everything = { admit: (_kind: string, event: PlainEvent) => event };

function answer(bus: Bus, cluster: string, control: ControlPort) {
  const subjects = subjectsOf(cluster);
  const endpoint = (
    name: string,
    subject: string,
    work: (subject: string, body: never) => Promise<unknown>,
  ) => ({
    name,
    subject,
    handler: async (message: { subject: string; data: Uint8Array }) =>
      encodeJson(await work(message.subject, decode(message.data) as never)),
  });
  const idOf = (subject: string) => {
    const call = subjects.parseRpc(subject);
    if (call === undefined || !('id' in call)) throw new Error(`no actor in ${subject}`);
    return call.id;
  };
  return serve(bus, {
    name: 'orrery',
    version: '0.1.0',
    id: 'r1',
    clock: systemClock,
    endpoints: [
      ...pageEndpoints({ bus, subjects, clock: systemClock }),
      ...deadLetterEndpoints({
        bus,
        subjects,
        clock: systemClock,
        random: systemRandom,
        log: silentLog,
        admission: everything,
      }),
      endpoint('list', subjects.rpcList, (_, body) => control.list(body)),
      endpoint('shards', subjects.rpcShards, () => control.shards()),
      endpoint('send', subjects.rpcSendAll, (subject, body) => control.send(idOf(subject), body)),
      endpoint('get', subjects.rpcGetAll, async (subject) => {
        const view = await control
          .get(idOf(subject))
          .catch((error: unknown) => Promise.reject(asError(error)));
        if (view === null) throw new OrreryError('ACTOR_MISSING', 'there is no such actor');
        return view;
      }),
    ],
  });
}
