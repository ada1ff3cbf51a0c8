/** The contract of stored streams: appending, guards, reading, removing. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { hasCode } from '../../src/base/errors.ts';
import type { ActorId } from '../../src/base/ids.ts';
import { shardOf } from '../../src/bus/partition.ts';
import type { Subjects } from '../../src/bus/subjects.ts';
import { until } from '../until.ts';
import { bytes, type Clients, codeOf, collect, text } from './bus-parts.ts';

export function appending(clients: Clients, s: Subjects): void {
  test('what is acknowledged is stored, for everybody to see, with its headers (B2)', async () => {
    const { a, b } = clients();
    const subject = s.state(1, 'pod/append/one');
    const { sequence, duplicate } = await a.append(subject, bytes('v1'), { headers: { x: 'y' } });
    expect(duplicate).toBe(false);
    const found = await b.last('state', subject);
    expect(found).toMatchObject({ subject, sequence, headers: { x: 'y' } });
    expect(text(found?.data ?? bytes(''))).toBe('v1');
    expect(Math.abs((found?.storedAt ?? 0) - systemClock.now())).toBeLessThan(60_000);
  });

  test('appends of one client are stored in the order in which they were made, many at a time', async () => {
    const { a, b } = clients();
    const ids = Array.from({ length: 300 }, (_, n) => s.event(`pod/order/p-${n}`));
    const appended = await Promise.all(ids.map((subject) => a.append(subject, bytes('x'))));
    const sequences = appended.map(({ sequence }) => sequence);
    expect(sequences).toEqual([...sequences].sort((x, y) => x - y));
    expect(new Set(sequences).size).toBe(300);
    expect((await b.lastOfMany('event', ids)).size).toBe(300);
  });

  test('two appends with one message id are stored once (B6)', async () => {
    const { a, b } = clients();
    const subject = s.event('pod/dedup/one');
    const first = await a.append(subject, bytes('x'), { msgId: 'dedup-1' });
    const second = await b.append(subject, bytes('x'), { msgId: 'dedup-1' });
    expect(second).toEqual({ sequence: first.sequence, duplicate: true });
    const other = await b.append(subject, bytes('x'), { msgId: 'dedup-2' });
    expect(other.duplicate).toBe(false);
    expect(other.sequence).toBeGreaterThan(first.sequence);
    expect((await a.last('event', subject))?.headers['Nats-Msg-Id']).toBe('dedup-2');
  });

  test('what is sent to an actor is stored as mail of the shard that everybody computes', async () => {
    const { a, b } = clients();
    const id: ActorId = 'domain/_/*.app.example.com';
    await a.append(s.send(id), bytes('{"type":"x"}'));
    const found = await b.last('mail', s.mail(shardOf(id), id));
    expect(s.parseMail(found?.subject ?? '')).toEqual({ shard: shardOf(id), id });
  });
}

export function boundsOfAppending(clients: Clients, s: Subjects): void {
  test('a message that is too large, for the stream or for the connection, is refused', async () => {
    const { a } = clients();
    const subject = s.state(1, 'pod/append/large');
    expect(await codeOf(a.append(subject, new Uint8Array(600 * 1024)))).toBe('BUS_REFUSED');
    expect(await codeOf(a.append(subject, new Uint8Array(3 * 1024 * 1024)))).toBe('BUS_REFUSED');
    expect(await a.last('state', subject)).toBeUndefined();
    expect((await a.append(subject, new Uint8Array(500 * 1024))).duplicate).toBe(false);
    expect((await a.last('state', subject))?.data.length).toBe(500 * 1024);
  });

  test('an append that no stream takes is of unknown outcome, at once', async () => {
    const { a } = clients();
    expect(await codeOf(a.append(s.peer('stored'), bytes('x'), { timeoutMs: 60_000 }))).toBe(
      'BUS_UNKNOWN_OUTCOME',
    );
  });

  test('a message with a time to live removes itself, where the stream allows it', async () => {
    const { a } = clients();
    const subject = s.world('pods', 'ttl', 'one');
    await a.append(subject, bytes('gone soon'), { ttlSeconds: 1 });
    expect(await a.last('world', subject)).toBeDefined();
    const refused = a.append(s.event('pod/ttl/one'), bytes('x'), { ttlSeconds: 1 });
    expect(await codeOf(refused)).toBe('BUS_REFUSED');
    await until(async () => (await a.last('world', subject)) === undefined, { what: 'the message to go' });
  });
}

export function guards(clients: Clients, s: Subjects): void {
  test('a write is stored only if the last sequence of the guarded subject is the one given (B3)', async () => {
    const { a, b } = clients();
    const fence = s.fence(10);
    const record = s.state(10, 'pod/guard/one');
    const claimed = await a.append(fence, bytes('a'), { guard: { subject: fence, sequence: 0 } });
    const mine = { subject: fence, sequence: claimed.sequence };
    const saved = await a.append(record, bytes('a1'), { guard: mine });
    await a.append(s.state(10, 'pod/guard/other'), bytes('a2'), { guard: mine });

    const taken = await b.append(fence, bytes('b'), { guard: mine });
    expect(await codeOf(a.append(record, bytes('a3'), { guard: mine }))).toBe('BUS_CONFLICT');
    expect(await codeOf(a.append(fence, bytes('a'), { guard: mine }))).toBe('BUS_CONFLICT');
    expect((await b.last('state', record))?.sequence).toBe(saved.sequence);

    const theirs = { subject: fence, sequence: taken.sequence };
    await b.append(record, bytes('b1'), { guard: theirs });
    expect(text((await a.last('state', record))?.data ?? bytes(''))).toBe('b1');
  });

  test('sequence 0 means that there is nothing, and is refused once there is something', async () => {
    const { a } = clients();
    const fence = s.fence(11);
    await a.append(fence, bytes('x'), { guard: { subject: fence, sequence: 0 } });
    const again = a.append(fence, bytes('x'), { guard: { subject: fence, sequence: 0 } });
    expect(await codeOf(again)).toBe('BUS_CONFLICT');
    const unheld = { subject: s.fence(12), sequence: 3 };
    expect(await codeOf(a.append(s.state(12, 'pod/guard/x'), bytes('x'), { guard: unheld }))).toBe(
      'BUS_CONFLICT',
    );
  });

  test('of many claims of one fence at the same time exactly one is stored', async () => {
    const { a, b } = clients();
    const fence = s.fence(13);
    for (let round = 0, sequence = 0; round < 20; round++) {
      const guard = { subject: fence, sequence };
      const claims = [a, b, a, b].map((bus) => bus.append(fence, bytes('x'), { guard }));
      const won = (await Promise.allSettled(claims)).filter((claim) => claim.status === 'fulfilled');
      expect(won).toHaveLength(1);
      sequence = won[0]?.value.sequence ?? -1;
    }
  });
}

export function guardsInFlight(clients: Clients, s: Subjects): void {
  test('of writes in flight when the fence moves, those before it are stored and none after it', async () => {
    const { a, b } = clients();
    const fence = s.fence(14);
    const { sequence } = await a.append(fence, bytes('a'));
    const guard = { subject: fence, sequence };
    const writes = Array.from({ length: 400 }, (_, n) =>
      a.append(s.state(14, `pod/flight/p-${n}`), bytes('x'), { guard }).then(
        (appended) => appended.sequence,
        (error) => (hasCode(error, 'BUS_CONFLICT') ? Number.POSITIVE_INFINITY : Promise.reject(error)),
      ),
    );
    const moved = await b.append(fence, bytes('b'), { guard });
    const stored = (await Promise.all(writes)).filter((written) => written !== Number.POSITIVE_INFINITY);
    expect(stored.every((written) => written < moved.sequence)).toBe(true);
    expect(await codeOf(a.append(s.state(14, 'pod/flight/late'), bytes('x'), { guard }))).toBe(
      'BUS_CONFLICT',
    );
  });

  test('a duplicate under a guard that holds is a duplicate; under one that does not it is refused', async () => {
    const { a } = clients();
    const fence = s.fence(15);
    const subject = s.state(15, 'pod/guard/dup');
    const { sequence } = await a.append(fence, bytes('x'));
    const first = await a.append(subject, bytes('x'), { msgId: 'gd', guard: { subject: fence, sequence } });
    const again = await a.append(subject, bytes('x'), { msgId: 'gd', guard: { subject: fence, sequence } });
    expect(again).toEqual({ sequence: first.sequence, duplicate: true });
    const stale = a.append(subject, bytes('x'), {
      msgId: 'gd',
      guard: { subject: fence, sequence: sequence - 1 },
    });
    expect(await codeOf(stale)).toBe('BUS_CONFLICT');
  });
}

export function readingAndRemoving(clients: Clients, s: Subjects): void {
  test('of state and world only the last of each subject is kept, of mail and events all', async () => {
    const { a } = clients();
    for (const [stream, subject, kept] of [
      ['state', s.state(20, 'pod/kept/one'), 1],
      ['world', s.world('pods', 'kept', 'one'), 1],
      ['event', s.event('pod/kept/one'), 3],
    ] as const) {
      for (const word of ['1', '2', '3']) await a.append(subject, bytes(word));
      const { messages, following } = await collect(a, stream, [subject], { kind: 'sequence', sequence: 1 });
      await following.caughtUp;
      expect(messages.map((message) => text(message.data)).slice(-kept)).toHaveLength(kept);
      expect(messages).toHaveLength(kept);
      await following.stop();
    }
  });

  test('the last of many subjects are found together, those that are missing left out', async () => {
    const { a } = clients();
    const have = Array.from({ length: 100 }, (_, n) => s.fence(1000 + n));
    await Promise.all(have.map((subject) => a.append(subject, bytes(subject))));
    const found = await a.lastOfMany('state', [...have, s.fence(2000)]);
    expect([...found.keys()].sort()).toEqual([...have].sort());
    for (const [subject, message] of found) expect(text(message.data)).toBe(subject);
    expect((await a.lastOfMany('state', [])).size).toBe(0);
    expect(await a.last('state', s.fence(2000))).toBeUndefined();
  });

  test('a purge removes what is under the subject and below the sequence, and nothing else', async () => {
    const { a } = clients();
    const appended = [];
    for (const name of ['a', 'b', 'a', 'b'])
      appended.push(await a.append(s.event(`pod/purge/${name}`), bytes('x')));
    const kept = await a.append(s.event('pod/purge2/a'), bytes('x'));
    const wild = `${s.prefix}.event.pod.purge.*`;
    const left = async () => {
      const { messages, following } = await collect(a, 'event', [wild, s.event('pod/purge2/a')], {
        kind: 'sequence',
        sequence: 1,
      });
      await following.caughtUp;
      await following.stop();
      return messages.map(({ sequence }) => sequence);
    };
    const sequences = appended.map(({ sequence }) => sequence);
    await a.purge('event', { subject: wild, belowSequence: sequences[2] ?? 0 });
    expect(await left()).toEqual([...sequences.slice(2), kept.sequence]);
    await a.purge('event', { subject: s.event('pod/purge/a') });
    expect(await left()).toEqual([sequences[3], kept.sequence]);
  });
}

export function removingOne(clients: Clients, s: Subjects): void {
  test('one message is removed by its sequence; what is not there any more is no mistake', async () => {
    const { a } = clients();
    const subject = s.event('pod/remove/a');
    const first = await a.append(subject, bytes('first'));
    const second = await a.append(subject, bytes('second'));
    await a.remove('event', second.sequence);
    expect((await a.last('event', subject))?.sequence).toBe(first.sequence);
    await a.remove('event', second.sequence);
    await a.remove('event', second.sequence + 1_000);
    expect((await a.last('event', subject))?.sequence).toBe(first.sequence);
  });
}

export function batches(clients: Clients, s: Subjects): void {
  test('a batch is stored as a whole, its messages one right after the other (B7)', async () => {
    const { a, b } = clients();
    const { sequence } = await a.appendAll([
      { subject: s.node('one'), data: bytes('1'), headers: { x: 'y' } },
      { subject: s.nodesEpoch, data: bytes('2') },
    ]);
    expect(await b.last('state', s.nodesEpoch)).toMatchObject({ sequence, subject: s.nodesEpoch });
    const first = await b.last('state', s.node('one'));
    expect(first).toMatchObject({ sequence: sequence - 1, headers: { x: 'y' } });
    expect(text(first?.data ?? bytes(''))).toBe('1');
  });

  test('each message of a batch has its own guard; if one does not hold, nothing of the batch is stored', async () => {
    const { a, b } = clients();
    const fence = (await a.append(s.fence(30), bytes('x'))).sequence;
    const epoch = (await a.append(s.nodesEpoch, bytes('x'))).sequence;
    const status = s.releaseStatus('guarded');
    const write = (fenceSeen: number, epochSeen: number, text: string) =>
      a.appendAll([
        { subject: status, data: bytes(text), guard: { subject: s.fence(30), sequence: fenceSeen } },
        { subject: s.nodesEpoch, data: bytes(text), guard: { subject: s.nodesEpoch, sequence: epochSeen } },
      ]);
    expect(await codeOf(write(fence - 1, epoch, 'no'))).toBe('BUS_CONFLICT');
    expect(await codeOf(write(fence, epoch - 1, 'no'))).toBe('BUS_CONFLICT');
    expect(await b.last('state', status)).toBeUndefined();
    expect((await b.last('state', s.nodesEpoch))?.sequence).toBe(epoch);
    const { sequence } = await write(fence, epoch, 'yes');
    expect(text((await b.last('state', status))?.data ?? bytes(''))).toBe('yes');
    expect(await codeOf(write(fence, epoch, 'again'))).toBe('BUS_CONFLICT');
    expect((await b.last('state', s.nodesEpoch))?.sequence).toBe(sequence);
  });

  test('of two batches at the same time on one guard exactly one is stored', async () => {
    const { a, b } = clients();
    let epoch = (await a.append(s.nodesEpoch, bytes('x'))).sequence;
    for (let round = 0; round < 20; round++) {
      const writes = [a, b, a, b].map((bus) =>
        bus.appendAll([
          { subject: s.releaseStatus('race'), data: bytes('x') },
          { subject: s.nodesEpoch, data: bytes('x'), guard: { subject: s.nodesEpoch, sequence: epoch } },
        ]),
      );
      const won = (await Promise.allSettled(writes)).filter((one) => one.status === 'fulfilled');
      expect(won).toHaveLength(1);
      epoch = won[0]?.value.sequence ?? -1;
    }
  });

  test('a stream that does not take batches refuses them', async () => {
    const { a } = clients();
    const batch = [1, 2].map((n) => ({ subject: s.event('pod/batch/one'), data: bytes(`${n}`) }));
    expect(await codeOf(a.appendAll(batch))).toBe('BUS_REFUSED');
    expect(await a.last('event', s.event('pod/batch/one'))).toBeUndefined();
  });
}
