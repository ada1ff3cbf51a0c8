/** A replica that cannot listen says which flag gave the address: three flags give one. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createTroubles } from '../../src/bus/troubles.ts';
import { answerWhileWaiting } from '../../src/replica/health/waiting.ts';
import { listeningOn } from '../../src/replica/listening.ts';

const start = (port: number) =>
  answerWhileWaiting({
    listen: { host: '127.0.0.1', port },
    clock: systemClock,
    troubles: createTroubles(systemClock),
  });

test('an address that is taken is refused with its flag, and a free one is used', async () => {
  const free = { host: '127.0.0.1', port: 0 };
  const server = await listeningOn('http', free, start(0));
  const { port } = server.address;
  try {
    await expect(listeningOn('health-http', server.address, start(port))).rejects.toThrow(
      `--health-http: a replica cannot listen on 127.0.0.1:${port}: port ${port} of 127.0.0.1 is taken`,
    );
  } finally {
    await server.close();
  }
});

test('an IPv6 address stands in brackets', async () => {
  const refused = Promise.reject(new Error('listen EADDRNOTAVAIL: address not available fd00::1:8080'));
  await expect(listeningOn('http', { host: 'fd00::1', port: 8080 }, refused)).rejects.toThrow(
    '--http: a replica cannot listen on [fd00::1]:8080: this machine does not have the address fd00::1',
  );
});
