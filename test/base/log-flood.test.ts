/** A flood of one sentence does not fill the log, and hides no other. */
import { expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { createLog } from '../../src/base/log.ts';
import { VirtualClock } from '../virtual-clock.ts';

function scene(level: 'debug' | 'info' = 'info') {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLog({ level, clock, write: (line) => lines.push(line) });
  const written = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { clock, log, written };
}

test('150 lines a second for one reason are written up to the bound, and then counted', async () => {
  const { clock, log, written } = scene();
  for (let second = 0; second < 60; second++) {
    for (let n = 0; n < 150; n++) log.child({ shard: n }).warn({ actor: `pod/shop/web-${n}` }, 'it failed');
    await clock.advance(1_000);
  }
  const spans = 60_000 / limits.logSpanMs;
  expect(written()).toHaveLength(spans * (limits.logLinesPerSpan + 1));
  const counted = written().filter(({ left }) => left !== undefined);
  expect(counted[0]).toMatchObject({
    level: 'warn',
    message: 'it failed',
    left: 10 * 150 - limits.logLinesPerSpan,
    seconds: 10,
  });
});

test('others are written meanwhile, and so is the same when it is rare again', async () => {
  const { clock, log, written } = scene();
  for (let n = 0; n < 500; n++) log.warn({}, 'it failed');
  log.error({}, 'it failed');
  log.info({}, 'it went well');
  expect(written().slice(limits.logLinesPerSpan)).toMatchObject([{ level: 'error' }, { level: 'info' }]);
  await clock.advance(limits.logSpanMs);
  log.warn({ again: true }, 'it failed');
  expect(written().at(-1)).toMatchObject({ again: true });
});

test('who asks for debug lines gets all of them', () => {
  const { log, written } = scene('debug');
  for (let n = 0; n < 500; n++) log.debug({}, 'holding');
  expect(written()).toHaveLength(500);
});

test('sentences that are made of names cost no memory beyond their bound', () => {
  const { log, written } = scene();
  for (let n = 0; n < 3 * limits.logSentences; n++) log.info({}, `it is ${n}`);
  expect(written()).toHaveLength(3 * limits.logSentences);
});
