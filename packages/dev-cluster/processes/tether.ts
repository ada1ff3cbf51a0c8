/**
 * Loaded into a child process before its program (`node --import`): ends the child when the parent is gone.
 *
 * The parent holds an IPC channel, which the kernel closes however the parent dies, even by SIGKILL. The
 * child then asks itself to end (SIGTERM), and is forced to after `clusterLimits.stopMs`. The channel by
 * itself keeps no process alive.
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
