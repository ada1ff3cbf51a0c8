/**
 * Loaded into a child process before its program (`node --import`): when the parent is gone, the child ends.
 *
 * The parent holds an IPC channel; the kernel closes it however the parent dies, by SIGKILL as well. Then the child asks itself to
 * end (SIGTERM), and is forced to after `limits.devStopMs`. The channel alone keeps nobody alive.
 */
import { systemClock } from '../clock.ts';
import { limits } from '../limits.ts';

if (process.channel !== undefined && process.channel !== null) {
  process.on('disconnect', () => {
    systemClock.after(limits.devStopMs, () => process.kill(process.pid, 'SIGKILL'));
    process.kill(process.pid, 'SIGTERM');
  });
  process.channel.unref();
}
