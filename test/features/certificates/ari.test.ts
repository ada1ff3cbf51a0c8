/** Renewal information (RFC 9773) as authorities write it. */
import { expect, test } from 'vitest';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { fetchWindow } from '../../../src/features/certificates/acme/ari.ts';

const suggestedWindow = { start: '2026-01-02T04:00:00Z', end: '2026-01-03T04:00:00Z' };
const place = { renewalInfo: 'https://ca/ari/', ariId: 'aki.serial', caBundle: null };

const answered = (body: unknown) =>
  fetchWindow(
    {
      clock,
      http: async () => ({ status: 200, headers: { 'retry-after': '60' }, body: JSON.stringify(body) }),
    },
    place,
    new AbortController().signal,
  );

test('a window has its times, and when to ask again', async () => {
  expect(await answered({ suggestedWindow })).toEqual({
    start: Date.parse(suggestedWindow.start),
    end: Date.parse(suggestedWindow.end),
    retryAfterMs: 60_000,
  });
});

test('§6.6: where the authority explains it is kept if it is an address', async () => {
  const why = 'https://acme.example.com/docs/ari?id=7';
  expect(await answered({ suggestedWindow, explanationURL: why })).toMatchObject({ why });
  for (const other of [
    7,
    'see our site',
    'javascript:alert(1)',
    `https://ca/${'x'.repeat(300)}`,
    'https://a b',
    'https://ca/\u001b[2J',
    'https://ca/\u202egro.live',
  ])
    expect(await answered({ suggestedWindow, explanationURL: other })).not.toHaveProperty('why');
});

test.each([
  [{}],
  [{ suggestedWindow: { ...suggestedWindow, end: suggestedWindow.start } }],
  [null],
  ['text'],
])('an answer without a window is none: %j', async (body) => {
  await expect(answered(body)).rejects.toMatchObject({ code: 'ACME_UNREACHABLE' });
});
