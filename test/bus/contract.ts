/**
 * The promises of every implementation of the port `Bus` (B1–B7), as tests. `memory.test.ts` and
 * `nats.test.ts` run them.
 *
 * The tests of one run share a server; each uses actors and subjects of its own name.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import type { Bus } from '../../src/bus/bus.ts';
import { subjects } from '../../src/bus/subjects.ts';
import { closing, coreMessages, manyAnswers, requests, subscriptions } from './contract-core.ts';
import { followingFromBefore, followingFromNow, followingGivenUp, followingOn } from './contract-follow.ts';
import {
  appending,
  batches,
  boundsOfAppending,
  guards,
  guardsInFlight,
  readingAndRemoving,
  removingOne,
} from './contract-streams.ts';

export interface Backend {
  /** A client of its own. */
  connect(): Promise<Bus>;
  close(): Promise<void>;
}

export function contract(makeBackend: (cluster: string) => Promise<Backend>): void {
  const cluster = 'contract';
  const s = subjects(cluster);
  let backend: Backend;
  let a: Bus;
  let b: Bus;
  beforeAll(async () => {
    backend = await makeBackend(cluster);
    a = await backend.connect();
    b = await backend.connect();
  });
  afterAll(async () => {
    await Promise.all([a?.close(), b?.close()]);
    await backend?.close();
  });
  const clients = () => ({ a, b });

  describe('core messages', () => {
    coreMessages(clients, s);
    subscriptions(clients, s);
  });
  describe('requests', () => {
    requests(clients, s);
    manyAnswers(clients, s);
  });
  describe('appending', () => {
    appending(clients, s);
    boundsOfAppending(clients, s);
  });
  describe('guards', () => {
    guards(clients, s);
    guardsInFlight(clients, s);
  });
  describe('batches', () => batches(clients, s));
  describe('reading and removing', () => readingAndRemoving(clients, s));
  describe('removing one message', () => removingOne(clients, s));
  describe('following', () => {
    followingFromBefore(clients, s);
    followingFromNow(clients, s);
    followingOn(clients, s);
    followingGivenUp(clients, s);
  });
  describe('closing', () => closing(() => backend.connect(), s));
}
