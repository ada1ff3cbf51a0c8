/** The webhook of DNS-01 over connections that break. */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { HttpClient } from '../../../src/features/certificates/acme/authority-http.ts';
import { callWebhook } from '../../../src/features/certificates/solvers/url-webhook.ts';

const { signal } = new AbortController();
const record = { url: 'http://127.0.0.1:1/dns', fqdn: '_acme-challenge.example.com', value: 'v' };

/** Breaks the calls of these numbers, counted from 0. */
function webhook(broken: readonly number[]): { http: HttpClient; heard: string[] } {
  const heard: string[] = [];
  let calls = 0;
  const http: HttpClient = async ({ body = '' }) => {
    if (broken.includes(calls++)) throw new OrreryError('ACME_UNREACHABLE', 'socket hang up');
    heard.push((JSON.parse(body) as { action: string }).action);
    return { status: 200, headers: {}, body: '' };
  };
  return { http, heard };
}

test('a record is made and taken away although the first connection of each call breaks', async () => {
  const { http, heard } = webhook([0, 2]);
  await callWebhook(http, record, 'present', signal);
  await callWebhook(http, record, 'cleanup', signal);
  expect(heard).toEqual(['present', 'cleanup']);
});

test('a webhook that cannot be reached twice is told as a refusal', async () => {
  const { http } = webhook([0, 1]);
  await expect(callWebhook(http, record, 'present', signal)).rejects.toMatchObject({
    code: 'ACME_REFUSED',
    message: expect.stringContaining('cannot be reached'),
  });
});

test('a webhook that does not answer in time is asked once: an attempt has no time for another', async () => {
  let calls = 0;
  const http: HttpClient = async () => {
    calls += 1;
    throw new OrreryError('ACME_UNREACHABLE', 'no answer in time', { facts: { timedOut: true } });
  };
  await expect(callWebhook(http, record, 'present', signal)).rejects.toMatchObject({
    code: 'ACME_REFUSED',
    message: expect.stringContaining('no answer in time'),
  });
  expect(calls).toBe(1);
});
