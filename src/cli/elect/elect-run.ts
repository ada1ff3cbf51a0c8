/**
 * The life of `orrery elect`: campaigns, runs the command while it leads, then ends or campaigns again.
 *
 * Promises: the command runs only during our own term and is told to end as soon as the leadership is over;
 * nothing is claimed while our command still runs; the Lease is given back only after the command has ended.
 */

import { type Clock, sleep } from '../../base/clock.ts';
import {
  type Campaign,
  type CampaignParts,
  type Leadership,
  startCampaign,
} from '../../features/elections/campaign.ts';
import { type GuardedCommand, startGuarded } from './elect-child.ts';

export interface ElectParts extends Omit<CampaignParts, 'onLeading' | 'onRenewed' | 'onTrouble' | 'onLost'> {
  readonly clock: Clock;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Campaigns again after the command has ended. */
  readonly keep: boolean;
  /** Prints one line for people. */
  readonly say: (line: string) => void;
}

/** Signals that end us; others only go to the command. */
const ending: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
/** Pause before campaigning again: a command that fails at once must not make the leadership spin. */
const againMs = 2_000;

export class Electing {
  /** Exit code. */
  readonly ended: Promise<number>;
  readonly #parts: ElectParts;
  readonly #election: string;
  readonly #campaign: Campaign;
  readonly #stopping = new AbortController();
  readonly #end = Promise.withResolvers<number>();
  #command: GuardedCommand | null = null;
  #told = '';

  /** @throws OrreryError USAGE */
  constructor(parts: ElectParts) {
    const { place } = parts;
    this.#parts = parts;
    this.#election = `${place.namespace}/${place.name}`;
    this.ended = this.#end.promise;
    this.#campaign = startCampaign({
      ...parts,
      onLeading: (leadership) => void this.#lead(leadership),
      onRenewed: (leadership) => this.#command?.lasts(leadership.leftMs(), leadership.leaseLeftMs()),
      onTrouble: (message) => this.#tell(message),
      onLost: (leadership, reason) => this.#lose(leadership, reason),
    });
    parts.say(`campaigns for ${this.#election}`);
  }

  /** Passes a signal to the command, or ends if there is none. */
  signal(signal: NodeJS.Signals): void {
    if (ending.includes(signal)) this.#stopping.abort(signal);
    if (this.#command !== null) this.#command.signal(signal);
    else if (this.#stopping.signal.aborted) void this.#finish(0);
  }

  async #lead(leadership: Leadership): Promise<void> {
    const { command, env, say } = this.#parts;
    // We are ending, or an earlier command still is: gives the leadership back.
    if (this.#stopping.signal.aborted || this.#command !== null) return this.#campaign.resign();
    say(`leads ${this.#election} under term ${leadership.term}`);
    const ours = { ORRERY_TERM: String(leadership.term), ORRERY_ELECTION: this.#election };
    const running = startGuarded(command, { ...env, ...ours });
    this.#command = running;
    running.lasts(leadership.leftMs(), leadership.leaseLeftMs());
    const { code, problem } = await running.ended;
    this.#command = null;
    if (problem !== null) say(problem);
    if (!this.#parts.keep || this.#stopping.signal.aborted) return this.#finish(code);
    await this.#again(code);
  }

  /** A repeated problem is reported once. */
  #tell(message: string): void {
    if (message === this.#told) return;
    this.#told = message;
    this.#parts.say(message);
  }

  #lose(leadership: Leadership, reason: string): void {
    // Without a command the leadership was given back, not lost.
    const why = this.#command === null ? 'given back' : reason;
    this.#parts.say(`leads ${this.#election} no more: ${why}`);
    this.#command?.lasts(0, leadership.leaseLeftMs());
  }

  async #again(code: number): Promise<void> {
    const { clock, say } = this.#parts;
    say(`the command ended with ${code}; campaigns again`);
    this.#campaign.resign();
    await sleep(clock, againMs, this.#stopping.signal).catch(() => {});
    if (!this.#stopping.signal.aborted) this.#campaign.campaign();
  }

  async #finish(code: number): Promise<void> {
    await this.#campaign.stop();
    this.#end.resolve(code);
  }
}
