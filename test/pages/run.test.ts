/**
 * Every command that the pages show is run, in the order of its page, on what `npm start` starts. What cannot
 * be run is in left-out.ts, with the reason. What a page says that a command prints has to be in what it
 * printed, apart from times, numbers and names that differ each time (shape.ts).
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { hasKubectl } from '../kubectl.ts';
import { until } from '../until.ts';
import { type Desk, root, startDesk } from './desk.ts';
import { applied, followedElsewhere, leftOut, prepared, replaced, standing } from './left-out.ts';
import { missing } from './shape.ts';
import { objectsIn, type Shown, shownIn } from './shown-commands.ts';

const read = (page: string) => readFileSync(join(root, page), 'utf8');
const isLeftOut = ({ command }: Shown) => leftOut.some(({ what }) => what.test(command));

const all = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: root })
  .filter((page) => page !== 'CHANGELOG.md' && !(page in followedElsewhere))
  .sort()
  .flatMap((page) => shownIn(page, read(page)));

const reads =
  /^(orrery|kubectl( -n \w+)?( orrery)?) (get|explain|events|describe|dead|shards|send)\b|^curl |^nats req |^npm run sim\b/;
const withoutComment = (command: string) => command.replace(/ +#.*$/, '');

/**
 * What only reads, or is named in a sentence, is run once; the rest on each page: what comes next may need
 * it.
 */
const toRun = all.filter((one, index) => {
  const same = ({ command }: Shown) => withoutComment(command) === withoutComment(one.command);
  const isOnceEnough = one.isInSentence || (reads.test(one.command) && one.prints.length === 0);
  return !isLeftOut(one) && !(isOnceEnough && all.findIndex(same) < index);
});
const found = [...new Set(toRun.map(({ page }) => page))];
// It takes longest: all of its Pods are replaced, one by one.
const pages = ['docs/kubectl.md', ...found.filter((page) => page !== 'docs/kubectl.md')];

test('whatever is left out is on a page, and every page followed elsewhere is there', () => {
  expect(leftOut.filter(({ what }) => !all.some(({ command }) => what.test(command)))).toEqual([]);
  for (const [page, follower] of Object.entries(followedElsewhere))
    expect(read(follower), page).toContain('pageOf(root)');
  for (const page of [...Object.keys(prepared), ...applied]) expect(pages).toContain(page);
});

describe.skipIf(!hasKubectl)('each command of the page runs', () => {
  let desk: Desk;
  beforeAll(async () => {
    const features = ['node-drain', 'namespace-janitor'].map((name) => `examples/${name}/feature.ts`);
    desk = await startDesk(features.flatMap((path) => ['--feature', path]));
    for (const command of standing) await succeeds(desk, command);
  }, 180_000);
  afterAll(() => desk?.stop());

  test.concurrent.each(pages)('%s', { timeout: 300_000, retry: 0 }, async (page) => {
    for (const object of applied.includes(page) ? objectsIn(read(page)) : [])
      await succeeds(desk, `kubectl apply -f - <<'END'\n${object}END`);
    for (const command of prepared[page] ?? []) await succeeds(desk, command);
    const before: string[] = [];
    for (const shown of toRun.filter((one) => one.page === page)) {
      if (/^(alias|export) |^\w+=(\S+|\$\(.*\))$/.test(shown.command)) before.push(shown.command);
      else await follow(desk, shown, before);
    }
  });

  test('npm start tells what the README shows, up to when it goes on by itself', async () => {
    const [, shown = ''] = /^```\n(starting nats-server[\s\S]*?)^…/m.exec(read('README.md')) ?? [];
    expect(shown.split('\n').length).toBeGreaterThan(5);
    await until(() => missing(shown.split('\n'), desk.told()).length === 0, {
      what: `${shown} in ${desk.told()}`,
    });
  });
});

async function succeeds(desk: Desk, command: string): Promise<void> {
  const { code, said } = await desk.run(command);
  expect(code === 0 ? null : { command, code, said }).toBeNull();
}

/**
 * Longer than a Pod of the scenario is away. What stays wrong is told now, not after a minute of attempts.
 */
const momentMs = 20_000;

const goesOn = /(^| )(-w|--watch|--follow)( |$)/;

async function follow(desk: Desk, { page, line, command, prints }: Shown, before: readonly string[]) {
  const here = replaced.reduce((text, [what, value]) => text.replace(what, value), command);
  const place = `${page}:${line}: ${command}`;
  const isEnough = (said: string) => said.includes('\n') && missing(prints, said).length === 0;
  const isRefused = prints[0]?.startsWith('Error') === true;
  const attempt = async () => {
    const { code, said } = await desk.run(here, { before, ...(goesOn.test(command) ? { isEnough } : {}) });
    const isRight = (code === 0) !== isRefused && missing(prints, said).length === 0;
    return { isRight, told: { place, code, missing: missing(prints, said), said } };
  };
  const begun = systemClock.monotonic();
  let last = await attempt();
  const tookMs = systemClock.monotonic() - begun;
  // The scenario replaces Pods all the time: what a page shows of them is there again a moment later.
  const deadline = systemClock.monotonic() + momentMs;
  while (!last.isRight && reads.test(here) && systemClock.monotonic() < deadline) {
    // Half of the time is left to those it waits for.
    await sleep(systemClock, Math.max(200, tookMs));
    last = await attempt();
  }
  expect(last.isRight ? null : last.told).toBeNull();
}
