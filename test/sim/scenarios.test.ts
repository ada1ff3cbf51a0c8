/** The transcripts: each scenario plays as it is written down. Re-made by `npm run scenarios`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { playScenario } from './scenario.ts';
import { parseScenario, transcript } from './scenario-file.ts';

const folder = join(import.meta.dirname, 'scenarios');
const files = readdirSync(folder).filter((name) => name.endsWith('.txt'));

test.each(files)('%s plays as it is written down', async (file) => {
  const text = readFileSync(join(folder, file), 'utf8');
  expect(await playScenario(text)).toBe(text);
});

test('what was seen is replaced, prose and commands stay', async () => {
  const text = '# why\n\ndo this\n----\nold\n\n# more\nand that\nand more\n----\nold\n';
  const played = await transcript(text, async (commands) => commands.map((one) => `${one}: done`));
  expect(played).toBe(
    '# why\n\ndo this\n----\ndo this: done\n\n# more\nand that\nand more\n----\nand that: done\nand more: done\n',
  );
});

test('commands without a rule below them are an error', () => {
  expect(() => parseScenario('do this\n\n----\n')).toThrow('without');
});
