import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ActorId, actorId } from '../../src/base/ids.ts';
import { readToken, writeToken } from '../../src/bus/subject-token.ts';
import { subjects } from '../../src/bus/subjects.ts';
import { durableKinds } from '../../src/replica/charts.ts';

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
const noSlash = text.filter((value) => !value.includes('/'));
const anyId: fc.Arbitrary<ActorId> = fc
  .tuple(fc.constantFrom(...durableKinds), noSlash, text)
  .map(([kind, namespace, name]) => actorId(kind, namespace, name));
const shard = fc.integer({ min: 0, max: 63 });
const legal = /^(?:[A-Za-z0-9_=-]+\.)*[A-Za-z0-9_=-]+$/;
const s = subjects('dev');

describe('a token', () => {
  test('holds only legal characters and reads back as the text it was made of', () => {
    fc.assert(
      fc.property(text, (value) => {
        const token = writeToken(value);
        expect(token).toMatch(/^(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+$/);
        expect(readToken(token)).toBe(value);
      }),
    );
  });

  test('is different for different texts', () => {
    fc.assert(fc.property(text, text, (a, b) => (writeToken(a) === writeToken(b)) === (a === b)));
  });

  test('is accepted only in its canonical writing, so that nobody can name one actor in two ways', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('=', 'A', 'a', '2', 'E', 'e', '.', '_', 'C3') }),
        (token) => {
          const read = readToken(token);
          if (read !== undefined) expect(writeToken(read)).toBe(token);
        },
      ),
    );
    for (const foreign of ['', 'a=2e', '=61', '=', '=4', 'a b', 'a.b', '=C3', '=FF', 'é']) {
      expect(readToken(foreign), foreign).toBeUndefined();
    }
  });

  test('is written as the interfaces say', () => {
    expect(writeToken('app.example.com')).toBe('app=2Eexample=2Ecom');
    expect(writeToken('*.x')).toBe('=2A=2Ex');
    expect(writeToken('a=b')).toBe('a=3Db');
    expect(() => writeToken('')).toThrow(/not empty/);
  });
});

describe('subjects', () => {
  test('are the ones of the interfaces', () => {
    expect(s.send('pod/shop/web-0')).toBe('orrery.dev.send.pod.shop.web-0');
    expect(s.mail(7, 'domain/_/app.example.com')).toBe('orrery.dev.mail.7.domain._.app=2Eexample=2Ecom');
    expect(s.state(63, 'pod/shop/web-0')).toBe('orrery.dev.state.63.pod.shop.web-0');
    expect(s.fence(0)).toBe('orrery.dev.fence.0');
    expect(s.world('pods', 'shop', 'web-0')).toBe('orrery.dev.world.pods.shop.web-0');
    expect(s.world('nodes', '', 'n1')).toBe('orrery.dev.world.nodes._.n1');
    expect(s.world('nodes', '_', 'n1')).toBe('orrery.dev.world.nodes.=5F.n1');
    expect(s.worldFence('pods')).toBe('orrery.dev.world._watch._.pods');
    expect(s.event('pod/shop/web-0')).toBe('orrery.dev.event.pod.shop.web-0');
    expect(s.member('a.b')).toBe('orrery.dev.member.a=2Eb');
    expect(s.rpcGet('pod/shop/web-0')).toBe('orrery.dev.rpc.get.pod.shop.web-0');
    expect(s.rpcElection('shop', 'worker', 'campaign')).toBe('orrery.dev.rpc.election.shop.worker.campaign');
    expect(s.peer('list', 'r.1')).toBe('orrery.dev.peer.list.r=2E1');
    expect(subjects('my cluster').prefix).toBe('orrery.my=20cluster');
  });

  test('about an actor read back as the actor, for every id', () => {
    fc.assert(
      fc.property(anyId, shard, (id, n) => {
        for (const subject of [s.send(id), s.mail(n, id), s.event(id), s.rpcGet(id)])
          expect(subject).toMatch(legal);
        expect(s.parseSend(s.send(id))).toBe(id);
        expect(s.parseEvent(s.event(id))).toBe(id);
        expect(s.parseMail(s.mail(n, id))).toEqual({ shard: n, id });
        expect(s.parseState(s.state(n, id))).toEqual({ shard: n, id });
        expect(s.parseFence(s.fence(n))).toBe(n);
        expect(s.parseRpc(s.rpcGet(id))).toEqual({ call: 'get', id });
        expect(s.parseRpc(s.rpcSend(id))).toEqual({ call: 'send', id });
      }),
    );
  });

  test('about an object of the world read back as the object, with or without a namespace', () => {
    fc.assert(
      fc.property(text, fc.oneof(text, fc.constantFrom('', '_')), text, (resource, namespace, name) => {
        fc.pre(resource !== '_watch');
        const subject = s.world(resource, namespace, name);
        expect(subject).toMatch(legal);
        expect(s.parseWorld(subject)).toEqual({ resource, namespace, name });
        expect(s.parseWorldFence(subject)).toBeUndefined();
        expect(s.parseWorldFence(s.worldFence(resource))).toBe(resource);
        expect(s.parseWorld(s.worldFence(resource))).toBeUndefined();
      }),
    );
  });

  test('of replicas, peers and elections read back', () => {
    fc.assert(
      fc.property(text, fc.array(text, { minLength: 1, maxLength: 3 }), (replica, words) => {
        expect(s.parseMember(s.member(replica))).toBe(replica);
        expect(s.parsePeer(s.peer(...words))).toEqual(words);
        expect(s.parseRpc(s.rpcElection(replica, words[0] ?? 'x', 'renew'))).toEqual({
          call: 'election',
          namespace: replica,
          name: words[0],
          candidate: null,
          action: 'renew',
        });
        expect(s.parseRpc(s.rpcCandidate(replica, 'x', words[0] ?? 'x', 'renew'))).toEqual({
          call: 'election',
          namespace: replica,
          name: 'x',
          candidate: words[0],
          action: 'renew',
        });
      }),
    );
    expect(s.parseRpc(s.rpcList)).toEqual({ call: 'list' });
    expect(s.parseRpc(s.rpcShards)).toEqual({ call: 'shards' });
  });

  test('of somebody else are not understood, and never throw', () => {
    const foreign = [
      '',
      'orrery.dev',
      'orrery.dev.mail.5',
      'orrery.dev.mail.5.pod.shop',
      'orrery.dev.mail.05.pod.shop.web',
      'orrery.dev.mail.-1.pod.shop.web',
      'orrery.dev.mail.5.pod.shop.web.0',
      'orrery.dev.mail.5.Pots.shop.web',
      'orrery.dev.mail.5.pod.a=2Fb.web',
      'orrery.other.mail.5.pod.shop.web',
      'orrery.dev.rpc.election.shop.worker.steal',
      'orrery.dev.rpc.election.shop.worker.a.get',
      'orrery.dev.rpc.election.shop.worker.a.b.renew',
      'orrery.dev.rpc.list.more',
      'orrery.dev.world.pods.shop',
      'orrery.dev.member.a.b',
    ];
    const parsers = [
      s.parseMail,
      s.parseState,
      s.parseEvent,
      s.parseSend,
      s.parseFence,
      s.parseWorld,
      s.parseRpc,
    ];
    for (const subject of foreign) {
      for (const parse of [...parsers, s.parseMember, s.parseWorldFence])
        expect(parse(subject), subject).toBeUndefined();
    }
    fc.assert(
      fc.property(fc.string(), (subject) => {
        for (const parse of parsers) parse(subject);
      }),
    );
  });
});

test('the subject that a sender used is told from the one under which the mail keeps the message', () => {
  const { mail, send, sendOfMail } = subjects('dev');
  for (const id of ['pod/shop/web-0', 'domain/_/app.example.com'] as const) {
    expect(sendOfMail(mail(7, id))).toBe(send(id));
  }
  expect(sendOfMail('orrery.other.mail.7.pod.shop.web')).toBe('orrery.other.mail.7.pod.shop.web');
});
