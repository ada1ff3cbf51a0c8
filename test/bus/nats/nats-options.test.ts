/** What is wrong with the options is said before anything is dialled, and never with a password in it. */
import { describe, expect, test } from 'vitest';
import { until } from '../../until.ts';
import { codeOf } from '../bus-parts.ts';
import { connectTo, recordingLog } from './nats-backend.ts';

describe('connecting to NATS', () => {
  test.each([
    ['a URL of another scheme', 'http://user:hunter2@127.0.0.1:1', {}],
    ['no server', '', {}],
    ['a credentials file that is not there', 'nats://127.0.0.1:1', { credsFile: '/nowhere/x.creds' }],
    ['a certificate that is not there', 'nats://127.0.0.1:1', { tls: { caFile: '/nowhere/ca.crt' } }],
  ])('with %s is a usage error', async (_, server, options) => {
    const connecting = connectTo(server, options);
    expect(await codeOf(connecting)).toBe('USAGE');
    await expect(connecting).rejects.not.toThrow(/hunter2/);
  });

  test.each(['nats://user:hunter2@127.0.0.1:1', 'user:hunter2@127.0.0.1:1'])(
    'says that %s cannot be reached without its password',
    async (server) => {
      const log = recordingLog();
      const abort = new AbortController();
      const connecting = connectTo(server, { log, signal: abort.signal });
      await until(() => log.lines.length > 0, { what: 'the line in the log' });
      abort.abort();
      expect(await codeOf(connecting)).toBe('BUS_UNREACHABLE');
      expect(JSON.stringify([log.lines, log.facts])).not.toContain('hunter2');
      expect(JSON.stringify(log.facts)).toContain('127.0.0.1:1');
    },
  );
});
