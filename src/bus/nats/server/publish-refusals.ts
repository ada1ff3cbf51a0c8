/**
 * Subjects on which the server does not let this user publish: for people, in few lines and in `/readyz`.
 *
 * A user without rights is refused several times a second for as long as it lasts. One line names all
 * subjects that are refused within a second, the next follow after a minute, doubling to an hour. Bounded,
 * because whoever asks chooses the subject of the answer.
 */
import { backOffMs } from '../../../base/back-off.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Log } from '../../../base/log-port.ts';
import type { Subscription } from '../../bus.ts';
import type { Troubles } from '../../troubles.ts';
import { familyOf, isForAnswers, smallLossesOf, smallLossOf } from './subject-family.ts';

const gatherMs = 1_000;
const repeatMinMs = 60_000;
const repeatMaxMs = 3_600_000;
/** Not refused for this long, a subject may have been allowed, ms: most are used several times a minute. */
const quietMs = 60_000;
const familiesMax = 32;

interface RefusalParts {
  readonly clock: Clock;
  readonly troubles: Troubles;
  readonly log: Log;
}

export class PublishRefusals {
  readonly #parts: RefusalParts;
  /** By the subjects that one permission would allow: when one was refused last, monotonic ms. */
  readonly #refusedAt = new Map<string, number>();
  readonly #listeners = new Set<(subject: string) => void>();
  #untold: string[] = [];
  #gathering: Timer | undefined;
  #looking: Timer | undefined;
  #lines = 0;
  #repeatAt = 0;

  constructor(parts: RefusalParts) {
    this.#parts = parts;
  }

  /** Calls back with each subject that is refused. */
  listen(callback: (subject: string) => void): Subscription {
    this.#listeners.add(callback);
    return { stop: () => void this.#listeners.delete(callback) };
  }

  note(subject: string): void {
    for (const listener of [...this.#listeners]) listener(subject);
    const { clock, troubles } = this.#parts;
    const family = familyOf(subject);
    const isKnown = this.#refusedAt.has(family);
    if (!isKnown && this.#refusedAt.size >= familiesMax) return;
    this.#refusedAt.set(family, clock.monotonic());
    this.#lookLater();
    if (isKnown) return;
    const isMinor = isForAnswers(family) || smallLossOf(family) !== undefined;
    if (isMinor || isOwn.test(family)) troubles.note(whatOf(family), textOf(family), { isMinor });
    this.#untold.push(family);
    this.#gathering ??= clock.after(gatherMs, () => this.#tellNew());
  }

  stop(): void {
    this.#gathering?.cancel();
    this.#looking?.cancel();
  }

  #tellNew(): void {
    this.#gathering = undefined;
    this.#tell(this.#untold);
    this.#untold = [];
  }

  #tell(subjects: readonly string[]): void {
    const { clock, log } = this.#parts;
    log.warn({ subjects: [...subjects].sort() }, notTaken(smallLossesOf(subjects)));
    this.#repeatAt = clock.monotonic() + backOffMs(this.#lines, repeatMinMs, repeatMaxMs);
    this.#lines++;
  }

  #lookLater(): void {
    this.#looking ??= this.#parts.clock.after(gatherMs, () => this.#look());
  }

  #look(): void {
    this.#looking = undefined;
    const now = this.#parts.clock.monotonic();
    for (const [family, at] of this.#refusedAt) {
      if (now - at < quietMs) continue;
      this.#refusedAt.delete(family);
      this.#parts.troubles.over(whatOf(family));
    }
    if (this.#refusedAt.size === 0) this.#lines = 0;
    else if (this.#lines > 0 && now >= this.#repeatAt) this.#tell([...this.#refusedAt.keys()]);
    if (this.#refusedAt.size > 0) this.#lookLater();
  }
}

const whatOf = (family: string) => `publish ${family}`;

function textOf(family: string): string {
  const lost = isForAnswers(family) ? 'whoever asks there gets no answer' : 'what is sent there is lost';
  return `NATS does not let this user publish on ${family}: ${smallLossOf(family) ?? lost}. Add it to what the user may publish (deploy/nats/permissions.conf)`;
}

/** What we publish by ourselves. Where else an answer goes, whoever asked has chosen. */
const isOwn = /^(orrery\.|\$JS\.)/;

const notTaken = (loss = 'what is sent there is lost until it may') =>
  `NATS does not let this user publish on these subjects: ${loss}. Add them to what the user may publish (deploy/nats/permissions.conf); this is told again after a minute, then less and less often, while it lasts`;
