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
  /** The index of its server in the list. */
  leaderOf(stream: StreamName): Promise<number | null>;
}

interface Info {
  readonly config: Readonly<Record<string, unknown>>;
  readonly state: { readonly bytes: number };
  readonly cluster?: { readonly leader?: string };
}

const tries = 20;
const pauseMs = 500;

export function createStreamFaults(bus: Bus, cluster: string, witness: Pick<Witness, 'lose'>): StreamFaults {
  const definitions = streamDefinitions(cluster);
  const info = (stream: StreamName) => jetStream<Info>(bus, `STREAM.INFO.${definitions[stream].name}`);
  const update = async (stream: StreamName, change: (found: Info) => object) => {
    const found = await info(stream);
    const config = { ...found.config, ...change(found) };
    await jetStream(bus, `STREAM.UPDATE.${definitions[stream].name}`, config);
  };
  return {
    fill: (stream) => update(stream, ({ state }) => ({ max_bytes: state.bytes + 1, discard: 'new' })),
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
    async remove(stream) {
      await jetStream(bus, `STREAM.DELETE.${definitions[stream].name}`);
      witness.lose(stream);
    },
    async leaderOf(stream) {
      const leader = (await info(stream)).cluster?.leader;
      return leader === undefined ? null : Number(leader.slice(1));
    },
  };
}
