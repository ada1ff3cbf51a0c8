/**
 * Loaded into a replica before its program (`node --import`): somebody sets its wall clock. By how much, ms,
 * stands in the file that `CHAOS_CLOCK` names and may change at any time; monotonic time goes on as it does.
 */
import { readFileSync, watchFile } from 'node:fs';

const file = process.env.CHAOS_CLOCK;
const lookEveryMs = 200;

if (file !== undefined) {
  const now = Date.now.bind(Date);
  let byMs = 0;
  Date.now = () => now() + byMs;
  // Its own timer keeps nobody alive.
  watchFile(file, { interval: lookEveryMs, persistent: false }, ({ size }) => {
    // 0: the folder was removed, and this process is about to end.
    if (size > 0) byMs = Number(readFileSync(file, 'utf8')) || 0;
  });
}
