/**
 * HTTP with TLS: the pair of files that was given, a renewed one without a restart, and cookies for
 * TLS alone.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCertificates } from '../../packages/kube-api/http/server-certificate.ts';
import { type HttpServer, startHttp } from '../../src/inspector/http/server.ts';
import { readTls } from '../../src/inspector/http/tls-files.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { byToken, httpOptions, inject } from './http-parts.ts';

let dir: string;
let server: HttpServer | undefined;
const clock = new VirtualClock();
const files = () => ({ certFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key') });

function renew(): string {
  const { ca, cert, key } = createCertificates();
  writeFileSync(files().certFile, cert);
  writeFileSync(files().keyFile, key);
  return ca;
}

/** The status of an answer, and the certificate that it came under. */
function ask(path: string, ca: string): Promise<{ status: number; peer: PeerCertificate }> {
  const { port = 0 } = server?.address ?? {};
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path, ca, agent: false }, (answer) => {
      const peer = (answer.socket as TLSSocket).getPeerCertificate();
      answer.resume().on('end', () => resolve({ status: answer.statusCode ?? 0, peer }));
    });
    request.on('error', reject);
  });
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-tls-'));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(dir, { recursive: true });
});

test('it answers under the certificate of the files, and under the renewed one a minute after', async () => {
  const first = renew();
  server = await startHttp(httpOptions({ clock, tls: files() }));
  const before = await ask('/livez', first);
  expect(before.status).toBe(200);
  const second = renew();
  await clock.advance(61_000);
  const after = await ask('/livez', second);
  expect(after.status).toBe(200);
  expect(after.peer.fingerprint256).not.toBe(before.peer.fingerprint256);
  await expect(ask('/livez', first)).rejects.toThrow();
});

test('while the files are being replaced the last good pair stays', async () => {
  const ca = renew();
  server = await startHttp(httpOptions({ clock, tls: files() }));
  writeFileSync(files().keyFile, 'half a k');
  await clock.advance(61_000);
  expect((await ask('/livez', ca)).status).toBe(200);
});

test('files that are missing, or no pair, are a usage error that names the flag', () => {
  expect(() => readTls(files())).toThrow(/--http-cert: .* is not allowed/);
  renew();
  writeFileSync(files().keyFile, createCertificates().key);
  expect(() => readTls(files())).toThrow(/--http-cert and --http-key do not belong together/);
});

test('metrics ask for a token where that is wanted', async () => {
  const isAsked = { metricsAuth: 'kubernetes', authorize: byToken } as const;
  expect((await inject(isAsked, { url: '/metrics' })).statusCode).toBe(401);
  expect((await inject({}, { url: '/metrics' })).statusCode).toBe(200);
});
