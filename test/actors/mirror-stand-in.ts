/**
 * A stand-in for the mirrors, for tests that write the world themselves: it holds the fences and is heard of,
 * but mirrors nothing.
 */
import type { Clock, Timer } from '../../src/base/clock.ts';
import type { Bus, BusMessage, Subscription } from '../../src/bus/bus.ts';
import { decode, encode, encodeJson } from '../../src/bus/codec.ts';
import type { Subjects } from '../../src/bus/subjects.ts';

const beatMs = 400;

export class MirrorStandIn {
  readonly #parts: { readonly bus: Bus; readonly subjects: Subjects; readonly clock: Clock };
  readonly #claimed = new Set<string>();
  #incarnation = 1;
  #timer: Timer | null = null;
  #ear: Subscription | null = null;
  readonly #met = new Set<string>();

  constructor(parts: { readonly bus: Bus; readonly subjects: Subjects; readonly clock: Clock }) {
    this.#parts = parts;
  }

  /** Says that it has listed everything of the resource, under a fence that it claims if it has none yet. */
  async state(mirror: string, digest: object): Promise<void> {
    const { bus, subjects } = this.#parts;
    await this.claim(mirror);
    await bus.append(subjects.world('_synced', '', mirror), encode(digest));
  }

  async claim(mirror: string): Promise<void> {
    const { bus, subjects, clock } = this.#parts;
    // A stream that was created anew holds no fence.
    const isStanding = (await bus.last('world', subjects.worldFence(mirror))) !== undefined;
    if (isStanding && this.#claimed.has(mirror)) return;
    this.#claimed.add(mirror);
    const value = { replica: 'mirror', incarnation: String(this.#incarnation), at: clock.now() };
    await bus.append(
      subjects.worldFence(mirror),
      encodeJson({ ...value, releasedAt: null, statesAnew: true }),
    );
    if (this.#timer !== null) return;
    this.#beat();
    if (this.#ear === null) this.#ear = bus.subscribe(subjects.memberAll, (message) => this.#hear(message));
  }

  /** Falls silent; claims again when it next states something. */
  die(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#claimed.clear();
    this.#incarnation++;
  }

  /** Answers newcomers, as every replica does. */
  #hear({ data }: BusMessage): void {
    const { incarnation } = decode(data) as { incarnation: string };
    if (this.#met.has(incarnation) || this.#timer === null) return;
    this.#met.add(incarnation);
    this.#say();
  }

  #beat(): void {
    this.#say();
    this.#timer = this.#parts.clock.after(beatMs, () => this.#beat());
  }

  #say(): void {
    const { bus, subjects } = this.#parts;
    const beat = {
      replica: 'mirror',
      incarnation: String(this.#incarnation),
      leaving: true,
      serving: false,
      tells: true,
    };
    bus.publish(subjects.member('mirror'), encodeJson(beat));
  }
}
