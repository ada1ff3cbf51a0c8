/**
 * Keys that a controller of the server has yet to process: each once, in order, a batch at a time.
 *
 * Promises: work runs after the step that requested it, never inside it, and requests are served between two
 * batches. An error is logged and does not stop the others.
 */
import { asError } from '../../../src/base/errors.ts';
import type { Log } from '../../../src/base/log.ts';
import { apiLimits } from '../limits.ts';

export class WorkQueue {
  readonly #name: string;
  readonly #log: Log;
  readonly #work: (key: string) => void;
  readonly #keys = new Set<string>();
  #handle: NodeJS.Immediate | undefined;
  #isStopped = false;

  constructor(name: string, log: Log, work: (key: string) => void) {
    this.#name = name;
    this.#log = log;
    this.#work = work;
  }

  add(key: string): void {
    if (this.#isStopped) return;
    this.#keys.add(key);
    this.#handle ??= setImmediate(() => this.#drain());
  }

  stop(): void {
    this.#isStopped = true;
    this.#keys.clear();
    clearImmediate(this.#handle);
  }

  #drain(): void {
    this.#handle = undefined;
    for (const key of [...this.#keys].slice(0, apiLimits.controllerBatch)) {
      this.#keys.delete(key);
      this.#doOne(key);
    }
    if (this.#keys.size > 0) this.#handle ??= setImmediate(() => this.#drain());
  }

  #doOne(key: string): void {
    try {
      this.#work(key);
    } catch (thrown) {
      this.#log.error({ error: asError(thrown), key, controller: this.#name }, 'controller failed');
    }
  }
}
