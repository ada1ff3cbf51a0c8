/** The bounds of a stream, with a clock that is moved by hand. */
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { MemoryStream } from '../../../src/bus/memory/stored-stream.ts';
import { type StreamDefinition, streamDefinitions } from '../../../src/bus/streams.ts';

function handClock(): Clock & { advance(ms: number): void } {
  let now = 1_000_000;
  let timers: Array<{ at: number; fn: () => void }> = [];
  return {
    now: () => now,
    monotonic: () => now,
    after(delayMs, fn) {
      const timer = { at: now + delayMs, fn };
      timers.push(timer);
      const cancel = () => {
        timers = timers.filter((other) => other !== timer);
      };
      return { cancel };
    },
    advance(ms) {
      now += ms;
      const due = timers.filter((timer) => timer.at <= now);
      timers = timers.filter((timer) => timer.at > now);
      for (const timer of due) timer.fn();
    },
  };
}

const data = new Uint8Array(1);
const make = (name: 'mail' | 'state' | 'event', changes: Partial<StreamDefinition> = {}) => {
  const clock = handClock();
  return { clock, stream: new MemoryStream({ ...streamDefinitions('x')[name], ...changes }, clock) };
};
const everything = () => true;
const event = 'orrery.x.event.pod.shop.web';

describe('a stream', () => {
  test('forgets messages after their age, and message ids after the window', () => {
    const { clock, stream } = make('event', { maxAgeMs: 1000, duplicateWindowMs: 100 });
    stream.append(event, data, { msgId: 'a' });
    clock.advance(99);
    expect(stream.append(event, data, { msgId: 'a' })).toEqual({ sequence: 1, duplicate: true });
    clock.advance(2);
    expect(stream.append(event, data, { msgId: 'a' })).toEqual({ sequence: 2, duplicate: false });
    clock.advance(900);
    expect(stream.from(1, everything).map(({ sequence }) => sequence)).toEqual([2]);
    clock.advance(100);
    expect(stream.last(event)).toBeUndefined();
  });

  test('that is full drops its oldest message, or refuses the new one, as it is defined', () => {
    const { stream: events } = make('event', { messagesMax: 2 });
    for (let n = 0; n < 3; n++) events.append(event, data, {});
    expect(events.from(1, everything).map(({ sequence }) => sequence)).toEqual([2, 3]);

    const { stream: mail } = make('mail', { messagesMax: 2 });
    const send = () => mail.append('orrery.x.send.pod.shop.web', data, {});
    send();
    send();
    expect(send).toThrow(/maximum messages exceeded/);
    mail.purge(everything, 2);
    expect(send().sequence).toBe(3);
  });

  test('keeps its last message and finds it from any sequence on, after many have been replaced', () => {
    const { stream } = make('state');
    const subject = (n: number) => `orrery.x.state.1.pod.shop.web-${n}`;
    for (let n = 0; n < 50_000; n++) stream.append(subject(n % 100), data, {});
    expect(stream.from(1, everything)).toHaveLength(100);
    expect(stream.from(49_951, everything).map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 50 }, (_, n) => 49_951 + n),
    );
    expect(stream.last(subject(7))?.sequence).toBe(49_908);
    expect(stream.lastSequence()).toBe(50_000);
  });

  test('removes a message when its time to live is over, unless it was replaced before', () => {
    const { clock, stream } = make('state');
    const subject = 'orrery.x.state.1.pod.shop.web';
    stream.append(subject, data, { ttlSeconds: 1 });
    stream.append(subject, data, {});
    clock.advance(1000);
    expect(stream.last(subject)?.sequence).toBe(2);
    stream.append(subject, data, { ttlSeconds: 1 });
    clock.advance(1000);
    expect(stream.last(subject)).toBeUndefined();
    expect(stream.append(subject, data, { guard: { subject, sequence: 0 } }).sequence).toBe(4);
  });
});
