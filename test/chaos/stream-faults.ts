/** What can go wrong with a stream on its servers: it is full, it is deleted, its leader is killed. */
import { systemClock as clock, sleep } from '../../src/base/clock.ts';
import type { Bus, StreamName } from '../../src/bus/bus.ts';
import { streamDefinitions } from '../../src/bus/streams.ts';
import { jetStream, type Witness } from './witness.ts';

export interface StreamFaults {
  /** Nothing more is accepted, as with a full disk. */
  fill(stream: StreamName): Promise<void>;
  empty(stream: StreamName): Promise<void>;
  remove(stream: StreamName): Promise<void>;
  /** All records and fences are lost. Resolves when the stream has been made anew. */
  loseState(): Promise<void>;
  /** The index of its server in the list. */
  leaderOf(stream: StreamName): Promise<number | null>;
}

interface Info {
  readonly config: Readonly<Record<string, unknown>>;
  readonly state: {
    readonly bytes: number;
    readonly messages: number;
    readonly first_seq: number;
    readonly last_seq: number;
  };
  readonly cluster?: { readonly leader?: string };
}

/** As soon as the stream is there again, or what is overwritten could not be judged, ms. */
const lookEveryMs = 20;
const readWithinMs = 5_000;
const tries = 20;
const pauseMs = 500;

export function createStreamFaults(bus: Bus, cluster: string, witness: Witness): StreamFaults {
  const definitions = streamDefinitions(cluster);
  const info = (stream: StreamName) => jetStream<Info>(bus, `STREAM.INFO.${definitions[stream].name}`);
  const update = async (stream: StreamName, change: (found: Info) => object) => {
    const found = await info(stream);
    const config = { ...found.config, ...change(found) };
    await jetStream(bus, `STREAM.UPDATE.${definitions[stream].name}`, config);
  };
  const fill = (stream: StreamName) =>
    update(stream, ({ state }) => ({ max_bytes: state.bytes + 1, discard: 'new' }));
  const remove = async (stream: StreamName) => {
    await jetStream(bus, `STREAM.DELETE.${definitions[stream].name}`);
    witness.lose(stream);
  };
  /** Everything that is ever stored is read: nothing more is accepted, and the rest is waited for. */
  const readToTheEnd = async () => {
    await fill('state');
    const { state } = await info('state');
    const until = clock.monotonic() + readWithinMs;
    while (witness.place('state') < state.last_seq) {
      if (clock.monotonic() > until) throw new Error('the state stream was not read in time');
      await sleep(clock, lookEveryMs);
    }
  };
  return {
    ...{ fill, remove },
    async loseState() {
      do {
        await readToTheEnd();
        await remove('state');
      } while (!(await keptAnew(witness, info)));
    },
    async empty(stream) {
      const discard = definitions[stream].whenFull === 'refuse' ? 'new' : 'old';
      // The server may be away at the moment.
      for (let n = 0; n < tries; n++) {
        try {
          return await update(stream, () => ({ max_bytes: -1, discard }));
        } catch (error) {
          if (n === tries - 1) throw error;
          await sleep(clock, pauseMs);
        }
      }
    },
    async leaderOf(stream) {
      const leader = (await info(stream)).cluster?.leader;
      return leader === undefined ? null : Number(leader.slice(1));
    },
  };
}

/** @returns whether nothing had been overwritten by then */
async function keptAnew(witness: Witness, info: (stream: StreamName) => Promise<Info>): Promise<boolean> {
  for (;;) {
    const isKept = await witness.keepHistory().then(
      () => true,
      () => false,
    );
    const { state } = isKept ? await info('state') : {};
    if (state !== undefined) return state.messages === state.last_seq - state.first_seq + 1;
    await sleep(clock, lookEveryMs);
  }
}
