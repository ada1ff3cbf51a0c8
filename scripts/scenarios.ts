/**
 * Rewrites the observations in the transcripts of test/sim/scenarios: `npm run scenarios`; review the
 * difference as text.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { playScenario } from '../test/sim/scenario.ts';

const folder = join(import.meta.dirname, '..', 'test', 'sim', 'scenarios');
const wanted = process.argv[2] ?? '';
for (const file of readdirSync(folder).filter((name) => name.endsWith('.txt') && name.includes(wanted))) {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  const played = await playScenario(text);
  if (played !== text) writeFileSync(path, played);
  process.stdout.write(`${played === text ? 'same   ' : 'written'}  ${file}\n`);
}
