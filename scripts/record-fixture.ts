/**
 * Writes what a running cluster stores into a fixture of its release: records in as many states as were seen,
 * checkpoints, fences, digests of the world, mail and a stretch of the feed.
 *
 * Run on a cluster that it starts from a checkout, with scenes:
 *   node scripts/record-fixture.ts --out test/fixtures/records/<release> --from <checkout>
 * or on one that is running:
 *   node scripts/record-fixture.ts --out … --nats nats://127.0.0.1:4222 [--kubeconfig <file>] [--seconds 120]
 * Exit code 1 if any message that was seen contains a Secret's contents.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ShardName } from '../src/base/ids.ts';
import { number, readFlags, text } from './flags.ts';
import { type Candidate, choose, showsOf } from './record-fixture/choice.ts';
import { lineOf } from './record-fixture/lines.ts';
import { playScenes } from './record-fixture/scenes.ts';
import { leaks, secretWords } from './record-fixture/secrecy.ts';
import { startWork } from './roll-over/load.ts';
import {
  type Bus,
  clock,
  connectKube,
  connectNats,
  decode,
  type KubePort,
  log,
  random,
  type StoredMessage,
  type StreamName,
  sleep,
  subjectsOf,
  unpackRecord,
} from './roll-over/product.ts';
import { clusterName, startStage } from './roll-over/stage.ts';

const values = readFlags(
  'node scripts/record-fixture.ts',
  'Writes what a running cluster stores into a fixture of its release; exit code 1 if it contains a Secret.',
  {
    out: text('the folder to write'),
    from: text('a checkout whose cluster is started, with scenes'),
    nats: text('or the NATS of a cluster that runs'),
    kubeconfig: text('of that cluster, to see its Secrets'),
    cluster: text('its name', clusterName),
    seconds: number('how long it is watched', 120),
  },
);
const subjects = subjectsOf(values.cluster);
const basics = { clock, random, log };
const recordsOfKind = 15;
const bytesOfKind = 28_000;
/** Kinds with many states, or large records. */
const bytesOfLargeKinds: Readonly<Record<string, number>> = {
  domain: 46_000,
  election: 38_000,
  release: 34_000,
};
const mailMost = 20;
const worldMost = 40;
const eventStretch = 24;
const say = (line: string) => console.log(line);

type Seen = Readonly<Record<Exclude<StreamName, 'dead'>, StoredMessage[]>>;

/** Everything that the streams hold now and receive from now on. */
async function watch(bus: Bus): Promise<{ readonly seen: Seen; stop(): Promise<void> }> {
  const seen: Seen = { state: [], mail: [], world: [], event: [] };
  const all: Readonly<Record<keyof Seen, string[]>> = {
    state: [
      subjects.stateAll,
      subjects.fenceAll,
      subjects.nodeAll,
      subjects.nodesEpoch,
      subjects.releaseStatusAll,
    ],
    mail: [subjects.mailAll, subjects.tellAll],
    world: [subjects.worldAll],
    event: [subjects.eventAll],
  };
  const followings = await Promise.all(
    (Object.keys(seen) as Array<keyof Seen>).map((stream) =>
      bus.follow(stream, {
        subjects: all[stream],
        from: { kind: 'sequence', sequence: 1 },
        onMessage: (message) => void seen[stream].push(message),
      }),
    ),
  );
  return {
    seen,
    async stop() {
      for (const following of followings) await following.stop();
    },
  };
}

function recordsIn(state: readonly StoredMessage[]): Map<string, Candidate[]> {
  const byKind = new Map<string, Candidate[]>();
  for (const message of state) {
    const parsed = subjects.parseState(message.subject);
    if (parsed === undefined || message.data.byteLength === 0) continue;
    const kind = parsed.id.split('/', 1)[0] ?? '';
    const one = { message, shows: showsOf(unpackRecord(message.data, parsed.id)) };
    byKind.set(kind, [...(byKind.get(kind) ?? []), one]);
  }
  return byKind;
}

/** The last message of each subject. */
function lastOf(messages: readonly StoredMessage[]): StoredMessage[] {
  return [...new Map(messages.map((message) => [message.subject, message])).values()];
}

function write(out: string, name: string, messages: readonly StoredMessage[]): void {
  writeFileSync(join(out, `${name}.jsonl`), messages.map((message) => `${lineOf(message)}\n`).join(''));
  say(`${name.padEnd(12)} ${String(messages.length).padStart(3)} messages`);
}

function keep(out: string, { state, mail, world, event }: Seen): void {
  mkdirSync(out, { recursive: true });
  const shards = new Set<ShardName>();
  for (const [kind, candidates] of recordsIn(state)) {
    const chosen = choose(candidates, recordsOfKind, bytesOfLargeKinds[kind] ?? bytesOfKind);
    for (const { subject } of chosen) shards.add(subjects.parseState(subject)?.shard ?? -1);
    write(out, kind, chosen);
  }
  const last = lastOf(state);
  const ofShards = (subjectOf: (shard: ShardName) => string) =>
    last.filter(({ subject }) => [...shards].some((shard) => subject === subjectOf(shard)));
  write(out, 'checkpoints', ofShards(subjects.checkpoint));
  write(out, 'fences', ofShards(subjects.fence));
  write(
    out,
    'nodes',
    last.filter(({ subject }) => /\.(node|nodes-epoch|release-status)(\.|$)/.test(subject)),
  );
  const typeOf = (message: StoredMessage) => {
    const body = decode(message.data) as { type?: string; kind?: string } | null;
    return [body?.type ?? body?.kind ?? ''];
  };
  write(
    out,
    'mail',
    choose(
      mail.map((message) => ({ message, shows: typeOf(message) })),
      mailMost,
    ),
  );
  write(
    out,
    'world',
    choose(
      world
        .filter(({ data }) => data.byteLength > 0)
        .map((message) => ({ message, shows: worldShows(message) })),
      worldMost,
    ),
  );
  const middle = Math.floor(event.length / 2);
  write(out, 'events', event.slice(middle, middle + eventStretch));
}

/** Each resource, and each set of fields in one of its digests. */
function worldShows({ subject, data }: StoredMessage): string[] {
  const resource = subjects.parseWorld(subject)?.resource ?? subjects.parseWorldFence(subject) ?? '';
  const body = decode(data) as object | null;
  return [resource, `${resource} ${Object.keys(body ?? {}).sort()}`];
}

async function check(seen: Seen, kube: KubePort | undefined): Promise<boolean> {
  const words = await secretWords(kube);
  const messages = Object.values(seen).flat();
  const found = leaks(messages, words);
  for (const leak of found) console.error(`a secret stands in ${leak}`);
  say(`${messages.length} messages hold none of ${words.length} words of Secrets: ${found.length === 0}`);
  return found.length === 0;
}

async function recordOwn(out: string, checkout: string): Promise<boolean> {
  const stage = await startStage(say);
  try {
    // The first replica creates the streams.
    const replicas = [await stage.start('orrery-0', checkout)];
    const { seen, stop } = await watch(stage.bus);
    for (const name of ['orrery-1', 'orrery-2']) replicas.push(await stage.start(name, checkout));
    const work = await startWork(stage, () => {});
    try {
      await playScenes(stage, replicas, say);
    } finally {
      await work.stop();
    }
    const isClean = await check(seen, stage.cluster.kube);
    await stop();
    keep(out, seen);
    return isClean;
  } finally {
    await stage.stop();
  }
}

async function recordOther(out: string, nats: string): Promise<boolean> {
  const bus = await connectNats({ ...basics, servers: [nats], name: 'record', cluster: values.cluster });
  const kube =
    values.kubeconfig === undefined ? undefined : connectKube({ ...basics, kubeconfig: values.kubeconfig });
  try {
    const { seen, stop } = await watch(bus);
    await sleep(clock, values.seconds * 1_000);
    const isClean = await check(seen, kube);
    await stop();
    keep(out, seen);
    return isClean;
  } finally {
    kube?.close();
    await bus.close();
  }
}

const { out, from, nats } = values;
if (out === undefined || (from === undefined) === (nats === undefined)) {
  console.error('usage: node scripts/record-fixture.ts --out <folder> (--from <checkout> | --nats <url>)');
  process.exit(2);
}
const isClean =
  from === undefined ? await recordOther(resolve(out), nats ?? '') : await recordOwn(resolve(out), from);
process.exit(isClean ? 0 : 1);
