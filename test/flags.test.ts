import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { choice, helpOf, list, number, parseFlags, text, toggle, whole } from '../scripts/flags.ts';

const flags = {
  seeds: whole('how many seeds', 200),
  hours: number('simulated hours instead'),
  only: choice('one part', ['wide', 'lost']),
  without: list('kinds of fault to leave out'),
  delay: text('of the routing', '2s'),
  'as-is': toggle('does not reduce'),
};

describe('the flags of a script', () => {
  test('have their types and defaults', () => {
    expect(parseFlags(flags, [])).toEqual({
      ...{ seeds: 200, hours: undefined, only: undefined, without: [], delay: '2s', 'as-is': false },
    });
    const given = ['--seeds', '3', '--hours', '0.5', '--only=lost', '--without', 'a,b', '--as-is'];
    expect(parseFlags(flags, given)).toMatchObject({
      ...{ seeds: 3, hours: 0.5, only: 'lost', without: ['a', 'b'], 'as-is': true },
    });
  });

  test.each([
    [['--seeds', 'many'], '--seeds many: must be a whole number, 0 or more'],
    [['--seeds', '1.5'], '--seeds 1.5: must be a whole number, 0 or more'],
    [['--hours', ''], '--hours : must be a number, 0 or more'],
    [['--hours=-1'], '--hours -1: must be a number, 0 or more'],
    [['--only', 'tall'], '--only tall: must be wide or lost'],
    [['--sneeds', '3'], "Unknown option '--sneeds'"],
    [['lost'], "Unexpected argument 'lost'"],
  ])('%j is refused', (argv, said) => {
    expect(() => parseFlags(flags, argv)).toThrow(said);
  });

  test('are explained, each with its default', () => {
    const help = helpOf('npm run sim --', 'Runs.', flags);
    expect(help).toContain('npm run sim -- [flags]\n\nRuns.\n');
    expect(help).toMatch(/ {2}--seeds NUMBER +how many seeds \(200\)\n/);
    expect(help).toMatch(/ {2}--only wide\|lost +one part\n/);
    expect(help).toMatch(/ {2}--as-is +does not reduce\n/);
  });

  test('a script that is called wrongly says so in one line', () => {
    const run = (...argv: readonly string[]) =>
      spawnSync(process.execPath, [join(import.meta.dirname, '../scripts/sim.ts'), ...argv], {
        encoding: 'utf8',
      });
    const wrong = run('--seeds', 'many');
    expect([wrong.status, wrong.stdout]).toEqual([2, '']);
    expect(wrong.stderr).toBe(
      'error: --seeds many: must be a whole number, 0 or more; npm run sim -- --help lists the flags\n',
    );
    const help = run('--help');
    expect([help.status, help.stderr]).toEqual([0, '']);
    expect(help.stdout).toContain('--lull NUMBER');
  });
});
