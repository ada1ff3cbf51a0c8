/**
 * One open live feed: sends what its client asked to see, as fast as the client reads.
 *
 * Rows are bundled: an actor that steps a hundred times between two messages is sent once, in its latest
 * form. While the client leaves too much unread, rows wait (bounded by the number of actors); a step that
 * cannot wait is left out and the actor is sent again.
 */

import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import { type ActorId, isActorKind, parseActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { ActorView, ControlPort, LiveRow } from '../../base/views.ts';
import type { Subscription } from '../../bus/bus.ts';
import type { LiveMessage, LiveRequest } from './live-messages.ts';
import type { LiveWatch } from './live-watch.ts';

/** A connection of any kind. */
export interface LiveLine {
  send(text: string): void;
  /** Bytes that were passed to the connection and not sent yet. */
  unread(): number;
}

export interface LiveSession {
  /** Processes a message from the client. */
  take(text: string): void;
  end(): void;
}

export interface LiveParts {
  readonly liveWatch: LiveWatch;
  readonly control: Pick<ControlPort, 'get'>;
  readonly clock: Clock;
  readonly replica: string;
  readonly release: string;
}

/** How often the watched actor is read again, ms: shows effects that end without a step. */
const readAgainMs = 5_000;
const rowsAtOnce = 2_000;
/** A page that misses three of these says so. */
const beatMs = 1_000;

export class OwnSession implements LiveSession {
  readonly #parts: LiveParts;
  readonly #line: LiveLine;
  readonly #changed = new Set<ActorId>();
  #rows: Subscription | null = null;
  #steps: Subscription | null = null;
  #actor: ActorId | null = null;
  #bundle: Timer | null = null;
  #reading: Timer | null = null;
  #beat: Timer | null = null;
  #facts: { readonly kind: string; readonly watch: Subscription } | null = null;

  constructor(parts: LiveParts, line: LiveLine) {
    this.#parts = parts;
    this.#line = line;
    const { replica, release, clock } = parts;
    this.#send({ type: 'hello', replica, release, now: clock.now() });
    this.#beatSoon();
  }

  take(text: string): void {
    let request: LiveRequest;
    try {
      request = readRequest(text);
    } catch (error) {
      this.#send({ type: 'problem', message: asError(error).message });
      return;
    }
    if (request.rows && !this.#rows) this.#watchRows();
    if (!request.rows) this.#unwatchRows();
    if (request.actor !== this.#actor) this.#watchActor(request.actor);
    this.#watchFacts(request.facts ?? null);
  }

  end(): void {
    this.#beat?.cancel();
    this.#watchFacts(null);
    this.#unwatchRows();
    this.#watchActor(null);
  }

  #send(message: LiveMessage): void {
    this.#line.send(JSON.stringify(message));
  }

  #beatSoon(): void {
    const { clock, liveWatch } = this.#parts;
    this.#beat = clock.after(beatMs, () => {
      if (!this.#isCrowded()) this.#send({ type: 'beat', now: clock.now(), asOf: liveWatch.readAt });
      this.#beatSoon();
    });
  }

  #watchFacts(kind: string | null): void {
    if (kind === (this.#facts?.kind ?? null)) return;
    this.#facts?.watch.stop();
    this.#facts = kind === null ? null : { kind, watch: this.#parts.liveWatch.watchFacts(kind) };
  }

  #watchRows(): void {
    const { liveWatch } = this.#parts;
    this.#rows = liveWatch.watchRows({
      changed: (ids) => this.#noteChanged(ids),
      cluster: (now) => this.#send({ type: 'cluster', ...now }),
    });
    this.#noteChanged(liveWatch.rows.keys());
  }

  #unwatchRows(): void {
    this.#rows?.stop();
    this.#rows = null;
    this.#bundle?.cancel();
    this.#bundle = null;
    this.#changed.clear();
  }

  #noteChanged(ids: Iterable<ActorId>): void {
    for (const id of ids) this.#changed.add(id);
    if (this.#changed.size > 0) this.#bundleSoon();
  }

  #bundleSoon(pauseMs: number = limits.inspectBundleMs): void {
    this.#bundle ??= this.#parts.clock.after(pauseMs, () => {
      this.#bundle = null;
      this.#sendRows();
      if (this.#changed.size > 0) this.#bundleSoon(this.#isCrowded() ? limits.inspectBundleMs : 1);
    });
  }

  #isCrowded(): boolean {
    return this.#line.unread() > limits.inspectUnreadBytes;
  }

  #sendRows(): void {
    const rows: LiveRow[] = [];
    const ended: ActorId[] = [];
    if (this.#isCrowded()) return;
    for (const id of this.#changed) {
      const row = this.#parts.liveWatch.rows.get(id);
      if (row) rows.push(row);
      else ended.push(id);
      this.#changed.delete(id);
      if (rows.length >= rowsAtOnce) break;
    }
    this.#send({ type: 'rows', rows, ended });
  }

  #watchActor(id: ActorId | null): void {
    this.#steps?.stop();
    this.#steps = null;
    this.#reading?.cancel();
    this.#actor = id;
    if (id === null) return;
    const steps = this.#parts.liveWatch.watchSteps(id, (told) => {
      if (!this.#isCrowded()) this.#send({ type: 'step', ...told });
    });
    this.#steps = steps;
    // The client may come back to the actor before an earlier question is answered.
    void this.#readActor(id, () => this.#steps === steps);
  }

  async #readActor(id: ActorId, isWatched: () => boolean): Promise<void> {
    try {
      const view = await this.#parts.control.get(id);
      if (isWatched()) this.#sendActor(id, view);
    } catch (error) {
      if (isWatched()) this.#send({ type: 'problem', message: asError(error).message });
    }
    if (!isWatched()) return;
    this.#reading = this.#parts.clock.after(readAgainMs, () => void this.#readActor(id, isWatched));
  }

  #sendActor(id: ActorId, view: Awaited<ReturnType<ControlPort['get']>>): void {
    const { recent: _, ...actor } = view ?? { recent: [] };
    this.#send({ type: 'actor', id, actor: view === null ? null : (actor as Omit<ActorView, 'recent'>) });
  }
}

/** @throws Error that says what is wrong */
function readRequest(text: string): LiveRequest {
  const value = JSON.parse(text) as Partial<LiveRequest> | null;
  const actor = value?.actor ?? null;
  const facts = isActorKind(String(value?.facts)) ? value?.facts : null;
  if (actor !== null) parseActorId(actor);
  return { rows: value?.rows === true, actor, facts: facts ?? null };
}
