/**
 * Recorded transitions, re-run: what was recorded comes out again, and what was tampered with is found and
 * named.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createReplay,
  type Difference,
  readTransition,
} from '../../../src/actors/control/transition-replay.ts';
import type { Transition } from '../../../src/base/views.ts';
import { shownTime } from '../../../src/base/words.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import type { Terminal } from '../../../src/cli/terminal.ts';
import { charts } from '../../../src/replica/charts.ts';
import { simulate } from '../../sim/simulation.ts';
import { pod, TestCluster } from '../harness.ts';

/** The feed of a little rolling update, as `orrery events -o json` prints it. */
async function recording(): Promise<Transition[]> {
  const cluster = new TestCluster();
  await cluster.replica('a');
  await cluster.shop(2, 2);
  await cluster.clock.advance(2_000);
  await cluster.put('pods', 'shop', 'web-0', null);
  await cluster.clock.advance(500);
  await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: 'another' }));
  await cluster.clock.advance(3_000);
  return cluster.transitions();
}

const linesOf = (transitions: readonly Transition[]) => transitions.map((one) => JSON.stringify(one));

function replayed(lines: readonly string[]) {
  const replay = createReplay(charts);
  let found: Difference | null = null;
  for (const line of lines) found ??= replay.take(readTransition(line));
  return { found, ...replay.summary() };
}

let recorded: Transition[] = [];
beforeAll(async () => {
  recorded = await recording();
});

test('every step of a recording comes out as it was recorded, also of an actor that ended and began anew', () => {
  const ends = recorded.filter(({ to }) => to === 'gone');
  expect(ends).toHaveLength(1);
  const { found, actors, transitions, skipped } = replayed(linesOf(recorded));
  expect(found).toBeNull();
  expect([actors, transitions, skipped.size]).toEqual([4, recorded.length, 0]);
});

test('so does a life that began anew because its record was lost, or because it was forgotten', () => {
  const later = recorded.map((one) => ({ ...one, fence: one.fence + 1, at: one.at + 7_200_000 }));
  const { found, transitions } = replayed(linesOf([...recorded, ...later]));
  expect(found).toBeNull();
  expect(transitions).toBe(2 * recorded.length);
});

test('so does every step of simulations in which replicas are killed and messages are lost', async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const { transitions, breach } = await simulate({ seed, chaosMs: 15_000 });
    expect(breach).toBeNull();
    const result = replayed(linesOf(transitions));
    expect([seed, result.found, result.skipped.size]).toEqual([seed, null, 0]);
    expect(result.transitions).toBe(transitions.length);
  }
});

describe('a recording that was tampered with: the first difference is named', () => {
  const marking = () => recorded.findIndex(({ to }) => to.startsWith('gated.marking'));
  const tampered = (change: (transition: Transition) => object) => {
    const at = marking();
    return recorded.map((one, index) => (index === at ? { ...one, ...change(one) } : one));
  };

  test('another state after', () => {
    const { found } = replayed(linesOf(tampered(() => ({ to: 'gated.proving.asking' }))));
    expect(found).toMatchObject({
      what: 'the state after',
      recorded: 'gated.proving.asking',
      replayed: 'gated.marking.patching',
      event: 'route.proven',
    });
  });

  test('another state before', () => {
    expect(replayed(linesOf(tampered(() => ({ from: 'deciding' })))).found).toMatchObject({
      what: 'the state before',
      recorded: 'deciding',
      replayed: 'gated.proving.asking',
    });
  });

  test('another field of an effect', () => {
    const forged = tampered(({ effects }) => ({
      effects: effects.map((one) => ({ ...one, uid: 'forged' })),
    }));
    expect(replayed(linesOf(forged)).found).toMatchObject({
      what: 'effect 0: field uid',
      recorded: 'forged',
      replayed: 'pod-uid-0',
    });
  });

  test('an effect too few', () => {
    expect(replayed(linesOf(tampered(() => ({ effects: [] })))).found).toMatchObject({
      what: 'the effects',
      recorded: 'none',
      replayed: 'pod-condition.patch',
    });
  });

  test('a step that is missing', () => {
    const at = recorded.findIndex(({ rev }) => rev === 2);
    const { id } = recorded[at] ?? {};
    const { found } = replayed(linesOf(recorded.filter((_, index) => index !== at)));
    expect(found).toMatchObject({ id, rev: 3, what: 'the revision', recorded: 3, replayed: 2 });
  });
});

test('an actor whose beginning is not in the recording is left out, the others are replayed', () => {
  const first = recorded.findIndex(({ id, rev }) => id === 'pod/shop/web-1' && rev === 1);
  const rest = recorded.filter((_, index) => index !== first);
  const { found, skipped, actors } = replayed(linesOf(rest));
  const left = rest.filter(({ id }) => id === 'pod/shop/web-1').length;
  expect([found, actors, [...skipped]]).toEqual([null, 3, [['pod/shop/web-1', left]]]);
});

test('what cannot be re-run is still looked at for gaps and for states that do not follow', () => {
  // The steps of its first life but for the beginning.
  const middle = recorded.filter(({ id, rev }) => id === 'pod/shop/web-0' && rev > 1 && rev < 5);
  const [first, second, ...rest] = middle;
  if (!first || !second) throw new Error('the recording is too short');
  expect(replayed(linesOf(middle)).found).toBeNull();
  expect(replayed(linesOf([first, ...rest])).found).toMatchObject({
    what: 'the revision',
    recorded: 4,
    replayed: 3,
  });
  expect(replayed(linesOf([{ ...first, to: 'ungated' }, second])).found).toMatchObject({
    what: 'the state before',
    replayed: 'ungated',
  });
});

describe('orrery replay', () => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-replay-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const file = (name: string, transitions: readonly Transition[]) =>
    write(name, `${linesOf(transitions).join('\n')}\n`);

  const orrery = (...args: string[]) => orreryWith('', ...args);

  async function orreryWith(input: string, ...args: string[]) {
    let [out, err] = ['', ''];
    const terminal: Terminal = {
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      input: () => Readable.from([input]),
      env: {},
      directory: folder,
      style: (_, text) => text,
      interrupted: new AbortController().signal,
    };
    return { code: await runCommandLine(['replay', ...args], terminal), out, err };
  }

  test('prints one line with counts and ends with 0 if all is equal', async () => {
    expect(await orrery(file('good.jsonl', recorded))).toEqual({
      code: 0,
      err: '',
      out: `${recorded.length} transitions of 4 actors come out as recorded\n`,
    });
  });

  test('reads the standard input as -', async () => {
    const { code, out } = await orreryWith(`${linesOf(recorded).join('\n')}\n`, '-');
    expect([code, out]).toEqual([0, `${recorded.length} transitions of 4 actors come out as recorded\n`]);
    expect(await orreryWith('{}\n', '-')).toMatchObject({
      code: 1,
      err: expect.stringContaining('the standard input, line 1'),
    });
  });

  test('says which actors are left out', async () => {
    const { code, out } = await orrery(file('middle.jsonl', recorded.slice(1)));
    const id = recorded[0]?.id ?? '';
    expect(code).toBe(0);
    expect(out).toContain('; 1 left out\n');
    expect(out).toContain(`${id}: `);
    expect(out).toContain('the recording does not hold its beginning');
  });

  test('shows the first difference in words and ends with 1', async () => {
    const at = recorded.findIndex(({ to }) => to.startsWith('gated.marking'));
    const forged = recorded.map((one, index) => (index === at ? { ...one, to: 'ungated' } : one));
    const { code, out, err } = await orrery(file('forged.jsonl', forged));
    const { id, rev, event } = forged[at] ?? {};
    const time = shownTime(Number(event?.at), true);
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(
      `${id}, revision ${rev} of ${time}, route.proven: the state after is another\n  recorded: ungated\n  now:      gated.marking.patching\n`,
    );
  });

  test.each([
    ['a line that is no JSON', 'not json\n', 'line 1: it is not JSON'],
    [
      'a line that is no transition',
      '{"id":"pod/shop/web-0","rev":1}\n',
      'line 1: it is not a transition: "from"',
    ],
    ['an actor of no kind', '', ''],
  ])('%s is named by its number, exit code 1', async (name, text, complaint) => {
    const alien = { ...recorded[0], id: 'planet' };
    const path = write('bad.jsonl', text === '' ? `${JSON.stringify(alien)}\n` : text);
    const { code, out, err } = await orrery(path);
    expect([name, code, out]).toEqual([name, 1, '']);
    expect(err).toMatch(/^error: [^\n]+\n$/);
    expect(err).toContain(complaint === '' ? 'line 1: "planet" is not an actor id' : complaint);
  });

  test('a file that cannot be read is one clear line, exit code 1', async () => {
    const path = join(folder, 'nothing.jsonl');
    const { code, err } = await orrery(path);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^error: .*nothing\.jsonl cannot be read: there is no such file\n$/),
    ]);
    expect((await orrery(folder)).code).toBe(1);
  });

  test('an unknown flag, or no file, is usage: exit code 2', async () => {
    expect((await orrery('--fast', 'x')).code).toBe(2);
    expect((await orrery()).code).toBe(2);
  });
});
