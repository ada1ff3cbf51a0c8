/**
 * The records of earlier releases in `test/fixtures/records/<release>/`, and a memory bus that holds them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ActorRecord, unpackRecord } from '../../src/actors/host/records.ts';
import { homesOf } from '../../src/actors/shards/homes.ts';
import type { ActorId } from '../../src/base/ids.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { charts } from '../../src/replica/charts.ts';
import { TestCluster } from './harness.ts';

const { homeOf } = homesOf([{ name: 'all', kinds: charts.map((chart) => ({ chart })) }], subjectsOf('test'));

/** A line of a file. */
export interface Recorded {
  readonly subject: string;
  readonly sequence: number;
  readonly storedAt: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
  /** The decoded bytes, as of the time when the line was written; absent if they are JSON themselves. */
  readonly says?: unknown;
}

export interface RecordedActor extends Recorded {
  readonly id: ActorId;
  readonly kind: string;
  readonly record: ActorRecord;
}

const folder = join(import.meta.dirname, '../fixtures/records');
/** Under the cluster's name. */
export const recordedSubjects = subjectsOf('dev');

export const releases = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** Every message of a file: `pod`, `checkpoints`, `world`, … */
export function linesOf(release: string, name: string): Recorded[] {
  const file = join(folder, release, `${name}.jsonl`);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map(readLine);
}

function readLine(line: string): Recorded {
  const { bytes, text, ...rest } = JSON.parse(line) as Omit<Recorded, 'data'> & {
    bytes?: string;
    text?: string;
  };
  const data = text === undefined ? Buffer.from(bytes ?? '', 'base64') : Buffer.from(text);
  return { ...rest, data: new Uint8Array(data) };
}

export function actorsOf(release: string, kind: string): RecordedActor[] {
  return linesOf(release, kind).map((line) => {
    const id = recordedSubjects.parseState(line.subject)?.id;
    if (id === undefined) throw new Error(`${line.subject} is no record of this release`);
    return { ...line, id, kind, record: unpackRecord(line.data, id) };
  });
}

/** Sets of records that fit into one stream: one of each actor. */
export function wavesOf(actors: readonly RecordedActor[]): RecordedActor[][] {
  const waves: RecordedActor[][] = [];
  for (const actor of actors) {
    const wave = waves.find((others) => others.every(({ id }) => id !== actor.id)) ?? [];
    if (wave.length === 0) waves.push(wave);
    wave.push(actor);
  }
  return waves;
}

/**
 * A cluster whose streams hold the records, with the fences and checkpoints of their shards, under their
 * original sequences; nobody owns them. The time is that at which the last of them was stored.
 *
 * @param options.checkpoints false: how far the shards had come is unknown, so nothing of the records' feeds
 * has been told
 */
export async function clusterWith(
  release: string,
  wave: readonly RecordedActor[],
  options: { readonly checkpoints: boolean } = { checkpoints: true },
): Promise<TestCluster> {
  const cluster = new TestCluster();
  await cluster.clock.advance(Math.max(...wave.map(({ storedAt }) => storedAt)) - cluster.clock.now());
  const checkpoints = options.checkpoints ? linesOf(release, 'checkpoints') : [];
  const besides = [...linesOf(release, 'fences'), ...checkpoints];
  const messages = [...wave, ...besides].sort((one, other) => one.sequence - other.sequence);
  const bus = cluster.hub.connect(release);
  const filler = cluster.subjects.state(homeOf('proxier/_/filler'), 'proxier/_/filler');
  const ofThisCluster = (subject: string) =>
    cluster.subjects.prefix + subject.slice(recordedSubjects.prefix.length);
  let sequence = 0;
  for (const { subject, data, headers, sequence: wanted } of messages) {
    while (sequence < wanted - 1) ({ sequence } = await bus.append(filler, new Uint8Array()));
    ({ sequence } = await bus.append(ofThisCluster(subject), data, { headers: withoutOwn(headers) }));
  }
  await bus.purge('state', { subject: filler });
  return cluster;
}

/** Without what the server adds or acts upon, which is not sent again. */
function withoutOwn(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('Nats-')));
}
