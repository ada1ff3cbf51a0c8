/** The parts that every verb works with. */
import type { Clock } from '../../src/base/clock.ts';
import type { Log } from '../../src/base/log.ts';
import type { Random } from '../../src/base/random.ts';
import type { Tokens } from './access/tokens.ts';
import type { Registry } from './resources/registry.ts';
import type { ServiceAddresses } from './storage/service-addresses.ts';
import type { Store } from './storage/store.ts';
import type { Fanout } from './watch/fanout.ts';

export interface Cluster {
  readonly store: Store;
  readonly registry: Registry;
  readonly fanout: Fanout;
  readonly addresses: ServiceAddresses;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Characters of generated names: no vowels, and no lookalikes. */
const nameAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** `generateName` and five characters; long bases are cut so that the name stays a DNS label. */
export function generatedName(random: Random, base: string): string {
  const suffix = Array.from(
    { length: 5 },
    () => nameAlphabet[Math.floor(random.next() * nameAlphabet.length)],
  );
  return base.slice(0, 58) + suffix.join('');
}
