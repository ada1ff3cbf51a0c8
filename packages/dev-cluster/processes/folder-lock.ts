/**
 * One development cluster per folder at a time.
 *
 * The lock is a socket in the kernel's abstract name space (Linux), so it leaves no file and ends with the
 * process, however that ends.
 */
import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { createServer } from 'node:net';
import { OrreryError } from '../../../src/base/errors.ts';

/** @throws OrreryError USAGE if another process holds the folder */
export function lockFolder(folder: string): Promise<() => Promise<void>> {
  const digest = createHash('sha256').update(realpathSync(folder)).digest('hex').slice(0, 32);
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new OrreryError('USAGE', `a development cluster runs in ${folder} already`)
          : error,
      ),
    );
    server.listen(`\0orrery-dev-${digest}`, () => {
      server.unref();
      resolve(() => new Promise((done) => server.close(() => done())));
    });
  });
}
