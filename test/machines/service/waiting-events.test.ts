/** What a busy Service takes in one step: the questions of many Pods, and the answers of one round. */
import { describe, expect, test } from 'vitest';
import type { RouteProven, ServiceEvent } from '../../../src/machines/service/route-events.ts';
import { merged } from '../../../src/machines/service/waiting-events.ts';
import { answered, newService, observed, rounds, told, wanted, watched } from './service-script.ts';

const joinTwoOrNull = (waiting: ServiceEvent, next: ServiceEvent) =>
  merged(waiting, next) as ServiceEvent | null;

function joinTwo(waiting: ServiceEvent, next: ServiceEvent): ServiceEvent {
  const joint = joinTwoOrNull(waiting, next);
  if (joint === null) throw new Error('the events cannot be joined');
  return joint;
}

describe('joint questions', () => {
  test('each Pod that asked is wanted, as if it had asked alone', () => {
    const alone = newService(observed(), wanted(1), wanted(2), wanted(3));
    const joint = newService(observed(), wanted(1)).take(joinTwo(wanted(2), wanted(3)));
    expect(joint.context.wants.map(({ pod, uid, ip }) => [pod, uid, ip])).toEqual(
      alone.context.wants.map(({ pod, uid, ip }) => [pod, uid, ip]),
    );
  });

  test('who asks twice is wanted once, at its later address', () => {
    const service = newService(observed(), joinTwo(wanted(1), wanted(1, { ip: '10.0.0.9' })));
    expect(service.context.wants.map(({ ip }) => ip)).toEqual(['10.0.0.9']);
  });
});

describe('joint answers', () => {
  test('each Pod that was met is told with its own address, and is wanted no more', () => {
    const service = newService(observed(), wanted(1), wanted(2), wanted(3));
    const [round] = rounds(service);
    service.take(joinTwo(answered(1, round?.round ?? 0), answered(3, round?.round ?? 0)));
    const proofs = service.askedOf('message.send').map(({ to, event }) => [to, event as RouteProven]);
    expect(proofs).toMatchObject([
      [['pod/shop/web-1'], { type: 'route.proven', uid: 'pod-1', ip: '10.0.0.1' }],
      [['pod/shop/web-3'], { type: 'route.proven', uid: 'pod-3', ip: '10.0.0.3' }],
    ]);
    expect(service.context.wants.map(({ pod }) => pod)).toEqual(['pod/shop/web-2']);
  });

  test('whose the addresses were is known of both', () => {
    const one = { ...answered(1, 1), pods: { '10.0.0.1': 'pod-1' } } as ServiceEvent;
    const other = { ...answered(2, 1), pods: { '10.0.0.2': 'pod-2' } } as ServiceEvent;
    expect(joinTwo(one, other)).toMatchObject({ pods: { '10.0.0.1': 'pod-1', '10.0.0.2': 'pod-2' } });
    expect(joinTwo(answered(1, 1), other)).toMatchObject({ pods: { '10.0.0.2': 'pod-2' } });
  });

  test('addresses of strangers among them prove nobody', () => {
    const service = newService(observed(), wanted(1));
    const [round] = rounds(service);
    service.take(joinTwo(answered(8, round?.round ?? 0), answered(1, round?.round ?? 0)));
    expect(told(service)).toEqual([['route.proven', 'web-1']]);
  });
});

describe('what is never joined', () => {
  test('answers of different rounds', () => {
    expect(merged(answered(1, 1), answered(2, 2))).toBeNull();
  });

  test('events of different words, and words that stand alone', () => {
    expect(merged(wanted(1), answered(1, 1))).toBeNull();
    expect(merged(watched(1), watched(2))).toBeNull();
    expect(merged(observed(), observed())).toBeNull();
  });

  test('more than an outbox has room for', () => {
    let joint: ServiceEvent = wanted(0);
    let size = 1;
    for (
      let next = joinTwoOrNull(joint, wanted(size));
      next !== null;
      next = joinTwoOrNull(joint, wanted(size))
    ) {
      joint = next;
      size += 1;
    }
    expect(size).toBe(24);
  });
});
