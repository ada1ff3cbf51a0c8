/** Why a proxier stands as it stands. */
import { expect, test } from 'vitest';
import type { ProxierContext } from '../../../src/machines/proxier/proxier-context.ts';
import type { ProxierEvent, ProxierFacts } from '../../../src/machines/proxier/proxier-events.ts';
import { ActorDriver } from '../actor-driver.ts';
import { toldOf } from '../told.ts';

class Proxier extends ActorDriver<ProxierEvent, ProxierContext> {
  constructor() {
    super('proxier', '_', 'node-1');
  }

  node(node: ProxierFacts['node']): this {
    return this.take({ type: 'proxier.observed', facts: { timeoutMs: 60_000, node } });
  }
}

const told = (proxier: Proxier) => toldOf('proxier', proxier);
const working = () => new Proxier().take({ type: 'proxier.updated', family: 'IPv4' }).node('eligible');

test('one that keeps up', () => {
  const proxier = working();
  expect(told(proxier)).toMatchObject({
    health: 'ok',
    text: 'the proxy has applied every change that it told of',
    next: null,
    facts: { Node: 'eligible', IPv4: 'synced', 'IPv4 updated': proxier.now },
  });
});

test('one with a change to apply, and one that is late, from the very moment of its timeout', () => {
  const proxier = working().take({ type: 'proxier.queued', family: 'IPv4' });
  const due = proxier.now + 60_000;
  expect(told(proxier)).toMatchObject({
    health: 'waiting',
    text: 'the proxy has an IPv4 change to apply',
    next: { text: 'the proxy counts as late', at: due },
    facts: { IPv4: 'pending', 'IPv4 waits since': proxier.now },
  });
  proxier.wait(60_000);
  expect(told(proxier)).toMatchObject({
    health: 'wrong',
    text: 'the proxy does not keep up: an IPv4 change has waited for 60s, the limit is 60s',
    next: null,
    facts: { IPv4: 'late' },
  });
});

test('one that never applied anything is starting, and not wrong, whatever waits', () => {
  const proxier = new Proxier()
    .take({ type: 'proxier.queued', family: 'IPv6' })
    .node('eligible')
    .wait(600_000);
  expect(told(proxier)).toMatchObject({
    health: 'ok',
    text: 'the proxy has not applied anything yet',
    facts: { IPv6: 'starting' },
  });
});

test('the node: unknown, going, deleted; the actor says until when it stays', () => {
  const unknown = new Proxier().take({ type: 'proxier.updated', family: 'IPv4' });
  expect(told(unknown)).toMatchObject({
    health: 'ok',
    text: 'the proxy has applied every change that it told of; nothing is known about the Node',
    next: { text: 'it is forgotten unless it reports', at: unknown.now + 86_400_000 },
    facts: { Node: 'unknown, counts as eligible' },
  });
  const going = working().node('ineligible');
  expect(told(going)).toMatchObject({
    text: 'the proxy has applied every change that it told of; the node should get no new traffic: it is being removed',
    next: null,
    facts: { Node: 'ineligible' },
  });
  going.node('absent');
  expect(told(going)).toMatchObject({
    text: 'the proxy has applied every change that it told of; the node should get no new traffic: it was deleted',
    next: { text: 'it is forgotten unless it reports', at: going.now + 3_600_000 },
  });
});
