/**
 * Loaded into a child process before its program (`node --import`): when the parent is gone, the child ends.
 *
 * The parent holds an IPC channel; the kernel closes it however the parent dies, by SIGKILL as well. Then the
 * child asks itself to end (SIGTERM), and is forced to after `clusterLimits.stopMs`. The channel alone keeps
 * nobody alive.
 */
import { clusterLimits } from '../limits.ts';

if (process.channel !== undefined && process.channel !== null) {
  process.on('disconnect', () => {
    // A clock's timer would keep the process alive until it fires; this one does not.
    AbortSignal.timeout(clusterLimits.stopMs).addEventListener('abort', () =>
      process.kill(process.pid, 'SIGKILL'),
    );
    process.kill(process.pid, 'SIGTERM');
  });
  process.channel.unref();
}
