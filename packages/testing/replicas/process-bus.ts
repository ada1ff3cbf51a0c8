/**
 * The bus as a simulated process sees it: everything enters through the process's door, and followed messages
 * and answers about streams may come late.
 *
 * The memory hub delivers everything to one client in one order. A real server does not: each consumer is a
 * stream of its own. So followed messages lag by a time that is drawn for each, in the order of their own
 * stream (promise B5 and no more). Answers lag as well: what is followed may come before them and be newer.
 */

import { type Clock, sleep } from '../../../src/base/clock.ts';
import { asError } from '../../../src/base/errors.ts';
import type { Bus, Following, FollowOptions, StreamName } from '../../../src/bus/bus.ts';
import { createLane } from '../time/lane.ts';
import type { SimProcess } from './process.ts';

export interface ProcessBusOptions {
  readonly bus: Bus;
  readonly process: SimProcess;
  readonly world: Clock;
  /** Delay of the next message of a following, or of the next answer about a stream, ms. */
  readonly lagMs: (stream: StreamName) => number;
  /** A handler of the program threw. */
  readonly onHandlerError: (error: Error) => void;
}

export function processBus(options: ProcessBusOptions): Bus {
  const { bus, process, world, lagMs } = options;
  const answered = async <T>(stream: StreamName, answer: Promise<T>): Promise<T> => {
    const value = await answer;
    await sleep(world, lagMs(stream));
    return value;
  };
  return {
    get status() {
      return bus.status;
    },
    get counters() {
      return bus.counters;
    },
    troubles: () => bus.troubles(),
    onStatus: (callback) => bus.onStatus((status) => process.enter(() => callback(status))),
    publish: (subject, data, more) => {
      if (process.state !== 'dead') bus.publish(subject, data, more);
    },
    subscribe: (subject, onMessage, more) =>
      bus.subscribe(subject, (message) => process.enter(() => onMessage(message)), more),
    request: (subject, data, more) => process.gate(bus.request(subject, data, more)),
    requestMany: (subject, data, more) => process.gate(bus.requestMany(subject, data, more)),
    append: (subject, data, more) =>
      process.state === 'dead' ? new Promise(() => {}) : process.gate(bus.append(subject, data, more)),
    appendAll: (messages, more) =>
      process.state === 'dead' ? new Promise(() => {}) : process.gate(bus.appendAll(messages, more)),
    follow: (stream, more) => follow(options, stream, more),
    last: (stream, subject) => process.gate(answered(stream, bus.last(stream, subject))),
    lastOfMany: (stream, subjects) => process.gate(answered(stream, bus.lastOfMany(stream, subjects))),
    streamState: (stream) => process.gate(answered(stream, bus.streamState(stream))),
    startOver: (stream) => bus.startOver(stream),
    purge: (stream, more) => process.gate(bus.purge(stream, more)),
    remove: (stream, sequence) => process.gate(bus.remove(stream, sequence)),
    close: () => process.gate(bus.close()),
  };
}

async function follow(
  { bus, process, world, lagMs, onHandlerError }: ProcessBusOptions,
  stream: StreamName,
  { subjects, from, onMessage, onAnother, signal }: FollowOptions,
): Promise<Following> {
  let stopped = false;
  const isOver = () => stopped || signal?.aborted === true;
  const lane = createLane(world, process.enter);
  const later = (fn: () => void) => lane(lagMs(stream), fn);
  const inner = await process.gate(
    bus.follow(stream, {
      subjects,
      from,
      ...(signal ? { signal } : {}),
      ...(onAnother ? { onAnother: () => later(() => !isOver() && onAnother()) } : {}),
      onMessage: (message) =>
        later(() => {
          if (isOver()) return;
          try {
            onMessage(message);
          } catch (error) {
            onHandlerError(asError(error));
          }
        }),
    }),
  );
  const caughtUp = new Promise<void>((resolve, reject) => {
    inner.caughtUp.then(
      () => later(resolve),
      (reason) => process.enter(() => reject(reason)),
    );
  });
  caughtUp.catch(() => {});
  return {
    caughtUp,
    stop() {
      stopped = true;
      return process.gate(inner.stop());
    },
  };
}
