/**
 * Loaded into a replica before its program (`node --import`): sets its wall clock. The file that
 * `CHAOS_CLOCK` names contains by how much, ms, and may change at any time; monotonic time is not affected.
 */
import { readFileSync, watchFile } from 'node:fs';

const file = process.env.CHAOS_CLOCK;
const lookEveryMs = 200;

if (file !== undefined) {
  const now = Date.now.bind(Date);
  let byMs = 0;
  Date.now = () => now() + byMs;
  // This timer keeps no process alive.
  watchFile(file, { interval: lookEveryMs, persistent: false }, ({ size }) => {
    // 0: the folder was removed, and this process is about to end.
    if (size > 0) byMs = Number(readFileSync(file, 'utf8')) || 0;
  });
}
