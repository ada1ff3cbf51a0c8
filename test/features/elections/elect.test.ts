/**
 * `orrery elect` around real commands: exit codes, signals, hand-overs, crashes, pauses and an API server
 * that is lost.
 */
import { describe, expect, test } from 'vitest';
import { orrery } from '../../cli/command.ts';
import { until } from '../../until.ts';
import { calm, ElectBench, leaseMs, overlaps, quick, steady, stubborn } from './elect-scene.ts';

/**
 * Each has an API server of its own, so that they can run side by side: most of their time is the end of a
 * Lease.
 */
const on = (run: (bench: ElectBench) => Promise<void>) => async () => {
  const bench = await ElectBench.start();
  try {
    await run(bench);
  } finally {
    await bench.stop();
  }
};

/** Time enough between SIGTERM and SIGKILL for a shell that hardly gets a processor. */
const losing = ['--lease-duration', '6', '--renew-deadline', '2', '--retry-period', '1'];
const timeout = { timeout: 120_000 };

describe.concurrent('the command', () => {
  test(
    'starts when we lead, knows its term and its election, and its exit code is ours; then the Lease is given back',
    timeout,
    on(async (bench) => {
      const { ended } = await bench.elect('a', ['sh', '-c', 'echo "$ORRERY_ELECTION $ORRERY_TERM"; exit 5']);
      expect(await ended).toMatchObject({ code: 5, out: 'shop/worker 1\n' });
      expect(await bench.lease()).toMatchObject({ holder: '', durationSeconds: 1, transitions: 0 });
    }),
  );

  test(
    'that cannot be found ends with 127, one that dies of a signal with 128 and its number',
    timeout,
    on(async (bench) => {
      const missing = await (await bench.elect('a', ['/no/such/command'])).ended;
      expect([missing.code, missing.err]).toEqual([
        127,
        expect.stringContaining('there is no command /no/such/command'),
      ]);
      expect((await (await bench.elect('b', ['sh', '-c', 'kill -9 $$'])).ended).code).toBe(137);
    }),
  );

  test(
    'gets the signals that we get, and may end as it likes',
    timeout,
    on(async (bench) => {
      const { child, ended } = await bench.elect('a', steady);
      await bench.seen('a', 'beat');
      child.kill('SIGTERM');
      expect((await ended).code).toBe(7);
      expect(bench.lines('a').at(-1)).toMatchObject({ what: 'told' });
      expect((await bench.lease())?.holder).toBe('');
    }),
  );

  test(
    'leaves nothing behind: what it started ends with it',
    timeout,
    on(async (bench) => {
      const background = `${steady[2]} & sleep 0.5; exit 3`;
      const { ended } = await bench.elect('a', ['sh', '-c', `(${steady[2]}) & ${background}`]);
      expect((await ended).code).toBe(3);
      const beats = bench.lines().length;
      await until(async () => (await bench.lease())?.holder === '', { what: 'the Lease is free' });
      expect(bench.lines().length).toBe(beats);
    }),
  );
});

describe.concurrent('two candidates', () => {
  test(
    'one after the other: the second starts when the first has ended in good order',
    timeout,
    on(async (bench) => {
      const first = await bench.elect('a', steady);
      await bench.seen('a', 'beat');
      await bench.elect('b', steady);
      await until(() => true, { what: 'b waits' });
      first.child.kill('SIGTERM');
      expect(await bench.seen('b', 'start')).toMatchObject({ term: 2 });
      expect(overlaps(bench.lines())).toEqual([]);
    }),
  );

  test(
    'after SIGKILL of the first its command ends too, and the second starts when the lease is over, not before',
    timeout,
    on(async (bench) => {
      const first = await bench.elect('a', stubborn, quick);
      await bench.seen('a', 'beat');
      await bench.elect('b', steady, quick);
      await until(async () => (await bench.lease())?.holder === 'a', { what: 'a leads' });
      first.child.kill('SIGKILL');
      const renewed = Date.parse((await bench.lease())?.renewTime ?? '');
      const next = await bench.seen('b', 'start');
      expect(next.at).toBeGreaterThanOrEqual(renewed + leaseMs);
      expect(overlaps(bench.lines())).toEqual([]);
    }),
  );

  test(
    'a process that is paused for longer than its lease: its command ends in time; resumed, it writes nothing',
    timeout,
    on(async (bench) => {
      const first = await bench.elect('a', stubborn, quick);
      await bench.seen('a', 'beat');
      await bench.elect('b', steady, quick);
      first.child.kill('SIGSTOP');
      await bench.seen('b', 'beat');
      expect(overlaps(bench.lines())).toEqual([]);
      first.child.kill('SIGCONT');
      expect((await first.ended).code).toBe(137);
      expect(await bench.lease()).toMatchObject({ holder: 'b', transitions: 1 });
      expect(overlaps(bench.lines())).toEqual([]);
    }),
  );
});

describe.concurrent('an API server that is lost', () => {
  test(
    'for less than the deadline is not noticed by the command',
    timeout,
    on(async (bench) => {
      await bench.elect('a', steady);
      await bench.seen('a', 'beat');
      bench.cut('a', true);
      const cutAt = bench.lines().length;
      await until(() => bench.lines().length > cutAt + 20, { what: 'two seconds of beats' });
      bench.cut('a', false);
      const before = (await bench.lease())?.renewTime;
      await until(async () => (await bench.lease())?.renewTime !== before, { what: 'it is renewed again' });
      expect(bench.lines().filter(({ what }) => what === 'told')).toEqual([]);
    }),
  );

  test(
    'for longer: SIGTERM at the deadline, SIGKILL when the lease is over',
    timeout,
    on(async (bench) => {
      const { ended } = await bench.elect('a', stubborn, losing);
      await bench.seen('a', 'beat');
      await until(async () => (await bench.lease())?.acquireTime !== (await bench.lease())?.renewTime, {
        what: 'it was renewed once',
      });
      // Once the Lease was seen to be renewed, the renewal before is known to whoever asked for it; the
      // last one
      // may be in the API server while its answer is lost with the line.
      const known = Date.parse((await bench.lease())?.renewTime ?? '');
      await until(async () => Date.parse((await bench.lease())?.renewTime ?? '') > known, {
        what: 'it was renewed again',
      });
      bench.cut('a', true);
      const told = await bench.seen('a', 'told');
      expect((await ended).code).toBe(137);
      const last = bench.lines().at(-1)?.at ?? 0;
      expect(told.at - known).toBeGreaterThanOrEqual(1_990);
      // How soon after the lease is a figure of bench/elections.ts: a machine under load lets every timer
      // wait.
      expect(last).toBeGreaterThanOrEqual(told.at);
    }),
  );
});

describe.concurrent('--keep', () => {
  test(
    'campaigns again when the command has ended, under a new term, until it is told to end',
    timeout,
    on(async (bench) => {
      const once = ['sh', '-c', 'echo "$ORRERY_TERM"; exit 1'];
      const { child, out, ended } = await bench.elect('a', once, [...calm, '--keep']);
      await until(() => out().includes('2\n'), { what: 'the second term' });
      child.kill('SIGTERM');
      const { err } = await ended;
      expect(out().split('\n').filter(Boolean).map(Number).slice(0, 2)).toEqual([1, 2]);
      expect(err).toContain('leads shop/worker no more: given back');
      expect(err).not.toContain('changed or deleted');
    }),
  );
});

describe.concurrent('what is wrong ends with 2 and one line', () => {
  test.each([
    [['elect', 'shop', '--id', 'a', '--', 'true'], /NAMESPACE\/NAME/],
    [['elect', 'shop/worker', '--', 'true'], /--id/],
    [['elect', 'shop/worker', '--id', '', '--', 'true'], /text that is not empty/],
    [['elect', 'shop/worker', '--id', 'a'], /command/],
    [['elect', 'shop/worker', '--id', 'a', '--lease-duration', '0', '--', 'true'], /--lease-duration/],
    [['elect', 'shop/worker', '--id', 'a', '--retry-period', '0.5', '--', 'true'], /--retry-period/],
  ])('%j', timeout, async (args, message) => {
    const { code, err } = await orrery(args as string[], { cwd: '/tmp' });
    expect([code, err.trim().split('\n').length]).toEqual([2, 1]);
    expect(err).toMatch(message as RegExp);
  });
});
