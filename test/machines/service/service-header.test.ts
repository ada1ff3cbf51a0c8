/**
 * The service chart: answers without the header. What must hold is docs/features/routes.md §4; tests in
 * quotes say it in short.
 */
import { describe, expect, test } from 'vitest';
import {
  answered,
  finished,
  headerAsked,
  headerSeen,
  headerUnseen,
  newService,
  observed,
  rounds,
  routes,
  told,
  wanted,
} from './service-script.ts';

const anonymous = { anonymous: 6 };
/** A Service whose first round met answers without the header alone. */
const inquiring = () => newService(observed(), wanted(1), wanted(2), finished(1, anonymous));

describe('“If in a whole round none did, the Service cannot be verified and every wanting Pod counts as proven for it”', () => {
  test('the other Services of the group are asked first; when each has said that it never saw the header, every Pod is told', () => {
    const service = inquiring();
    expect(told(service)).toEqual([
      ['header.asked', 'api'],
      ['header.asked', 'www'],
    ]);
    expect(told(service.take(headerUnseen('api')))).toEqual([]);
    service.take(headerUnseen('www'));
    expect(service.askedOf('message.send')).toEqual([
      {
        type: 'message.send',
        to: ['pod/shop/web-1', 'pod/shop/web-2'],
        event: { type: 'route.unverifiable', service: 'web', serviceUid: 'web-1-lo' },
      },
    ]);
    expect(routes(service)).toBe('resting.settled');
  });

  test('the only Service of its group need not ask anybody', () => {
    const service = newService(observed({ peers: [] }), wanted(1), finished(1, anonymous));
    expect(told(service)).toEqual([['route.unverifiable', 'web-1']]);
  });

  test('answers without the header beside silence are answers without the header', () => {
    const service = newService(
      observed({ peers: [] }),
      wanted(1),
      finished(1, { anonymous: 1, unreachable: 5 }),
    );
    expect(told(service)).toEqual([['route.unverifiable', 'web-1']]);
  });

  test('silence alone says nothing about the header', () => {
    const service = newService(observed({ peers: [] }), wanted(1), finished(1, { unreachable: 6 }));
    expect(told(service)).toEqual([]);
    expect(routes(service)).toBe('waiting.pausing');
  });

  test('once the group was asked in vain, the next Pod is told after its own round', () => {
    const service = inquiring().take(headerUnseen('api'), headerUnseen('www'), wanted(3));
    service.asked();
    expect(told(service.take(finished(2, anonymous)))).toEqual([['route.unverifiable', 'web-3']]);
  });
});

describe('docs/features/routes.md §5.3: Pods that are held for what cannot be verified wait on', () => {
  const holding = (change: object = {}) => observed({ peers: [], holds: true, ...change });

  test('each is told once, and rounds go on for it: a header that comes is met within seconds', () => {
    const service = newService(holding(), wanted(1), finished(1, anonymous));
    expect(told(service)).toEqual([['route.unverifiable', 'web-1']]);
    for (let n = 0; n < 30; n++) {
      for (let waited = 0; waited <= 6_500 && routes(service) !== 'sampling'; waited += 100)
        service.wait(100);
      expect(routes(service)).toBe('sampling');
      service.take(finished(service.context.round, anonymous));
    }
    expect(told(service)).toEqual([]);
    while (routes(service) !== 'sampling') service.wait(100);
    service.take(answered(1, service.context.round));
    expect(told(service)).toEqual([['route.proven', 'web-1']]);
  });

  test('the others of the group are asked first, and a Pod that asks later is told as well', () => {
    const service = newService(holding({ peers: ['api'] }), wanted(1), finished(1, anonymous));
    expect(told(service)).toEqual([['header.asked', 'api']]);
    expect(told(service.take(headerUnseen('api')))).toEqual([['route.unverifiable', 'web-1']]);
    expect(routes(service)).toMatch(/^waiting/);
    service.take(wanted(2)).wait(500).take(finished(service.context.round, anonymous));
    expect(told(service)).toEqual([['route.unverifiable', 'web-2']]);
  });

  test('a RouteGate that comes to pass them ends the rounds', () => {
    const service = newService(holding(), wanted(1), finished(1, anonymous), observed({ peers: [] }));
    service.wait(6_500).take(finished(service.context.round, anonymous));
    expect(routes(service)).toBe('resting.settled');
    expect(service.context.wants).toEqual([]);
  });
});

describe('docs/features/routes.md §3.5: “silence of another Service … is never a verdict”', () => {
  test('one that does not answer is asked again after a round, for ever; its word is waited for', () => {
    const service = inquiring().take(headerUnseen('api'));
    service.asked();
    for (let n = 0; n < 10; n++) {
      for (let waited = 0; waited < 10_000 && routes(service) !== 'sampling'; waited += 100)
        service.wait(100);
      service.take(wanted(1), finished(service.context.round, anonymous));
      expect(told(service)).toEqual([['header.asked', 'www']]);
    }
    service.take(headerUnseen('www'));
    expect(told(service)).toContainEqual(['route.unverifiable', 'web-1']);
  });

  test('who is asked in his first round answers when it is over', () => {
    const service = newService(observed(), wanted(1), headerAsked('www'));
    expect(told(service)).toEqual([]);
    service.take(finished(1, { unreachable: 6 }));
    expect(told(service)).toEqual([['header.unseen', 'www']]);
  });

  test('a Service that joins the group later is asked as well', () => {
    const service = inquiring().take(headerUnseen('api'), headerUnseen('www'));
    service.take(observed({ peers: ['api', 'www', 'xyz'] }), wanted(3)).asked();
    expect(told(service.take(finished(2, anonymous)))).toEqual([['header.asked', 'xyz']]);
  });

  test('a Service that is deleted and made again is asked again: it may carry the header now', () => {
    const service = inquiring().take(headerUnseen('api'), headerUnseen('www'));
    service.take(observed({ peers: ['api'] }), headerUnseen('www'));
    service.take(observed({ peers: ['api', 'www'] }), wanted(3)).asked();
    expect(told(service.take(finished(2, anonymous)))).toEqual([['header.asked', 'www']]);
  });
});

describe('“An anonymous answer proves nothing as long as any answer of that group ever carried the header.”', () => {
  test.each([
    ['that named a Pod', { anonymous: 5, healthy: ['10.0.0.77'] }],
    ['that was unhealthy', { anonymous: 5, unhealthy: ['10.0.0.2'] }],
  ])('one answer %s in the same round, and the others prove nothing', (_, summary) => {
    const service = newService(observed({ peers: [] }), wanted(1), finished(1, summary));
    expect(told(service)).toEqual([]);
    expect(routes(service)).toBe('waiting.pausing');
  });

  test('one such answer of this Service, however long ago, and none without it ever proves anything', () => {
    const service = newService(observed({ peers: [] }), wanted(1), answered(1, 1), finished(1), wanted(2));
    service.asked();
    for (let round = 2; round < 20; round++) service.take(finished(round, anonymous), wanted(2)).wait(7_000);
    expect(told(service)).toEqual([]);
  });

  test('one such answer of another Service, and this one waits for one of its own', () => {
    const service = inquiring();
    service.asked();
    service.take(headerSeen).wait(10_000);
    for (let n = 0; n < 20; n++)
      service.take(finished(service.context.round, anonymous), wanted(1)).wait(7_000);
    expect(told(service)).toEqual([]);
    expect(told(service.take(answered(1, service.context.round)))).toEqual([['route.proven', 'web-1']]);
  });

  test('who is asked answers at once if he knows', () => {
    const service = newService(observed(), wanted(1), answered(1, 1));
    service.asked();
    expect(told(service.take(headerAsked('www')))).toEqual([['header.seen', 'www']]);
  });

  test('who is asked and does not know tells all, once, as soon as he does: a verdict must not outlive its reason', () => {
    const service = newService(observed(), headerAsked('www'), headerAsked('api'));
    expect(told(service)).toEqual([
      ['header.unseen', 'www'],
      ['header.unseen', 'api'],
    ]);
    service.take(wanted(1), answered(1, 1));
    expect(told(service)).toEqual([
      ['route.proven', 'web-1'],
      ['header.seen', 'api'],
      ['header.seen', 'www'],
    ]);
    expect(told(service.take(finished(1), wanted(2), answered(2, 2)))).toEqual([['route.proven', 'web-2']]);
  });

  test('after a verdict, word of another Service’s header puts an end to further ones', () => {
    const service = inquiring().take(headerUnseen('api'), headerUnseen('www'), headerSeen, wanted(3));
    service.asked();
    expect(told(service.take(finished(2, anonymous)).wait(10))).toEqual([]);
    expect(service.context.wants).toHaveLength(1);
  });

  test('a Service that is replaced while the group is asked is sampled itself before anything is said of it', () => {
    const service = inquiring();
    service.asked();
    service.take(observed({ uid: 'web-2-long-uid' })).wait(200);
    expect(rounds(service)).toHaveLength(1);
    expect(told(service.wait(2_000))).toEqual([]);
  });
});
