/**
 * The endpoints region of the Service chart: when a pass over the slices is made, when it is tried again,
 * when nothing is done.
 */
import { describe, expect, test } from 'vitest';
import { createStepper } from '../../../src/actors/host/step.ts';
import type { ServiceEvent } from '../../../src/machines/service/route-events.ts';
import { serviceChart } from '../../../src/machines/service/service.ts';
import type { ServiceContext } from '../../../src/machines/service/service-context.ts';
import type { EndpointsFacts, PassEnd } from '../../../src/machines/service/slices-events.ts';
import { ActorDriver } from '../actor-driver.ts';
import { forgotten, observed } from './service-script.ts';

type Driver = ActorDriver<ServiceEvent, ServiceContext>;

const facts: EndpointsFacts = {
  uid: 'web-1',
  selects: true,
  wanted: 'A',
  standing: '-',
  empty: true,
  otherWriter: '',
};
const seen = (change: Partial<EndpointsFacts> = {}): ServiceEvent => ({
  type: 'service.endpoints.observed',
  facts: { ...facts, ...change },
});
const unseen: ServiceEvent = { type: 'service.endpoints.observed', facts: null };

/** A pass ended well: it made `wanted`, and the slices stand as `standing`. */
const ended = (
  pass: number,
  wanted: string,
  standing: string,
  change: Partial<PassEnd> & { compactable?: boolean } = {},
): ServiceEvent => ({
  type: 'slices.reconciled',
  compactable: false,
  ...{ pass, made: wanted, wanted, standing, empty: false, version: '7', writes: 1 },
  ...change,
});
const failed = (pass: number, end: PassEnd | null = null, retryAfterMs = 0): ServiceEvent => ({
  type: 'slices.failed',
  pass,
  message: 'no',
  retryAfterMs,
  end,
});

const begin = (...events: readonly ServiceEvent[]): Driver =>
  new ActorDriver<ServiceEvent, ServiceContext>('service', 'shop', 'web').take(...events);
const region = (service: Driver) => /endpoints\.(written\.[a-z]+|[A-Za-z]+)/.exec(service.state)?.[1];
const passes = (service: Driver) => service.askedOf('endpoint-slices.reconcile');
/** One pass was made, and its slices stand. */
const settled = () => {
  const service = begin(seen(), ended(1, 'A', 'S'));
  service.asked();
  return service;
};

describe('triggers', () => {
  test('a Service that selects workloads gets a pass, then is current', () => {
    const service = begin(seen());
    expect(region(service)).toBe('reconciling');
    expect(passes(service)).toMatchObject([
      { namespace: 'shop', name: 'web', pass: 1, version: '', since: 0 },
    ]);
    expect(region(service.take(ended(1, 'A', 'S')))).toBe('written.current');
  });

  test('the echo of an own write is no news', () => {
    const service = settled().take(seen({ standing: 'S', empty: false }));
    expect(region(service)).toBe('written.current');
    expect(passes(service)).toEqual([]);
  });

  test.each([
    ['what the slices must say', { wanted: 'B', standing: 'S', empty: false }],
    ['a slice', { standing: 'edited', empty: false }],
  ])('a change of %s is a pass', (_, change) => {
    expect(passes(settled().take(seen(change)))).toMatchObject([{ pass: 2, version: '7' }]);
  });

  test('whatever happens while a pass is in work becomes one more pass', () => {
    const service = begin(seen()).take(seen({ wanted: 'B' }), seen({ wanted: 'C' }), seen({ wanted: 'D' }));
    expect(passes(service)).toHaveLength(1);
    service.take(ended(1, 'A', 'S', { wanted: 'D' }));
    expect(passes(service)).toHaveLength(1);
    expect(region(service.take(ended(2, 'D', 'T')))).toBe('written.settling');
    expect(region(service.wait(100))).toBe('written.current');
    expect(passes(service)).toEqual([]);
  });

  test('a person may ask for a pass', () => {
    expect(passes(settled().take({ type: 'service.recheck' }))).toHaveLength(1);
  });

  test('news that the pass has seen already is no further pass', () => {
    const service = begin(seen()).take(seen({ wanted: 'B' }), ended(1, 'B', 'S'));
    expect(passes(service)).toHaveLength(1);
    expect(region(service)).toBe('written.current');
  });

  test('the outcome of an earlier pass is not believed', () => {
    const service = begin(seen()).wait(45_000);
    expect(region(service.take(ended(1, 'A', 'S')))).not.toBe('written.current');
  });
});

describe('how long a pass gathers', () => {
  test('a change that stands alone is written at once', () => {
    const [pass] = passes(
      settled()
        .wait(1_000)
        .take(seen({ wanted: 'B', standing: 'S' })),
    );
    expect(pass?.gather).toMatchObject({ quietMs: 0, maxMs: 0 });
  });

  /**
   * How long, at most, the passes gather that are made when changes come so long after the end of the last
   * pass, ms.
   */
  const longestAfter = (...pauses: number[]) => {
    const service = settled();
    return pauses.map((ms, at) => {
      service.wait(ms).take(seen({ wanted: `${at + 2}`, standing: 'S' }));
      const longest = passes(service)[0]?.gather.maxMs;
      service.take(ended(at + 2, `${at + 2}`, 'S'));
      return longest;
    });
  };

  test('changes that come faster than they are written are gathered, longer each time, up to a second, until there is a pause', () => {
    expect(longestAfter(2, 2, 2, 50, 50, 200, 50)).toEqual([500, 1_000, 1_000, 1_000, 1_000, 0, 0]);
  });

  test('changes that are made one after the other as they are written are not', () => {
    expect(longestAfter(10, 8, 5, 6, 7)).toEqual([0, 0, 0, 0, 0]);
  });
});

describe('what is ignored', () => {
  test('no selector, or ExternalName: slices that are left are removed, then nothing is done', () => {
    const service = settled().take(seen({ selects: false, wanted: 'N', standing: 'S', empty: false }));
    expect(region(service)).toBe('reconciling');
    expect(region(service.take(ended(2, 'N', '-', { empty: true })))).toBe('ignored');
    service.asked();
    service.take(seen({ selects: false, wanted: 'M', empty: true }));
    expect(region(service)).toBe('ignored');
    expect(passes(service)).toEqual([]);
  });

  test('without slices to begin with nothing is done', () => {
    expect(region(begin(seen({ selects: false })))).toBe('ignored');
  });

  test('it selects again: slices come back', () => {
    expect(region(begin(seen({ selects: false })).take(seen()))).toBe('reconciling');
  });
});

describe('failures', () => {
  test('5 ms, doubled each time, up to 1,000 s; after 15 retries the Service is stuck, with a Warning Event', () => {
    const service = begin(seen());
    const pauses: Array<number | null> = [];
    for (let pass = 1; pass <= 15; pass++) {
      service.take(failed(pass));
      expect(region(service)).toBe('backingOff');
      pauses.push(service.patience);
      service.wait(service.patience ?? 0);
    }
    expect(pauses.slice(0, 4)).toEqual([5, 10, 20, 40]);
    expect(pauses[14]).toBe(5 * 2 ** 14);
    service.asked();
    service.take(failed(16));
    expect(region(service)).toBe('stuck');
    expect(service.asked()).toMatchObject([
      {
        type: 'kube-event.write',
        eventType: 'Warning',
        reason: 'EndpointSlicesStuck',
        regarding: { name: 'web', uid: 'web-1' },
      },
    ]);
  });

  /** Every retry failed; the try that comes next is pass 17. */
  const stuck = () => {
    const service = begin(seen());
    for (let pass = 1; pass <= 16; pass++)
      service.take(failed(pass)).wait(pass < 16 ? (service.patience ?? 0) : 0);
    expect(region(service)).toBe('stuck');
    service.asked();
    return service;
  };

  test('§6.2: stuck is tried on every few minutes for ever, says so each time, and is over at the first success', () => {
    const service = stuck();
    for (let pass = 17; pass <= 30; pass++) {
      expect(service.patience).toBe(180_000);
      expect(passes(service.wait(180_000))).toMatchObject([{ pass, series: 1, gather: { quietMs: 0 } }]);
      expect(region(service.take(failed(pass)))).toBe('stuck');
      expect(service.asked()).toMatchObject([{ type: 'kube-event.write', reason: 'EndpointSlicesStuck' }]);
    }
    service.wait(180_000);
    expect(region(service.take(ended(31, 'A', 'S')))).toBe('written.current');
    expect(service.context.lastError).toBe(null);
  });

  test('tries of many Services that are stuck are spread over time', () => {
    const pauses = [0, 0.5, 1].map((random) => {
      const service = stuck();
      service.random = random;
      return service.wait(180_000).take(failed(17)).patience;
    });
    expect(pauses).toEqual([135_000, 180_000, 225_000]);
  });

  test('§6.2: a try whose outcome is lost is followed by another', () => {
    const service = stuck().wait(180_000);
    expect(region(service.wait(45_000))).toBe('stuck');
    expect(service.patience).toBe(180_000);
  });

  test('§6.3: any news begins the retries afresh; the Service is stuck until one succeeds', () => {
    const service = stuck().take(seen({ wanted: 'B' }));
    expect(passes(service)).toMatchObject([{ pass: 17 }]);
    expect(service.state).toContain('endpoints.stuck.trying');
    expect(service.take(failed(17)).state).toContain('endpoints.stuck.resting');
    expect(service.patience).toBe(5);
    service.wait(5);
    expect(region(service.take(ended(18, 'B', 'S')))).toBe('written.current');
  });

  test('§6.3: news begins afresh before it is stuck, too', () => {
    const service = begin(seen());
    for (let pass = 1; pass <= 10; pass++) service.take(failed(pass)).wait(service.patience ?? 0);
    service.take(failed(11), seen({ wanted: 'B' }));
    expect(region(service)).toBe('reconciling');
    expect(service.take(failed(12)).patience).toBe(5);
  });

  test('what a failed pass did write is no news that cuts the pause short', () => {
    const end = { pass: 1, made: 'A', wanted: 'A', standing: 'half', empty: false, version: '8', writes: 1 };
    const service = begin(seen()).take(failed(1, end), seen({ standing: 'half', empty: false }));
    expect(region(service)).toBe('backingOff');
  });

  test('the API server asked to wait: it is waited for', () => {
    expect(begin(seen()).take(failed(1, null, 7_000)).patience).toBe(7_000);
  });

  test('a pass whose outcome is lost is made again (I4)', () => {
    const service = begin(seen());
    expect(region(service.wait(45_000))).toBe('backingOff');
    expect(region(service.wait(5))).toBe('reconciling');
  });
});

describe('lists that are not complete', () => {
  const unlisted = (pass: number): ServiceEvent => ({ type: 'slices.unlisted', pass });

  test('§5.6: waiting for them counts nothing, and ends with the first thing that the world says', () => {
    const service = begin(seen()).take(unlisted(1));
    expect(region(service)).toBe('awaitingLists');
    service.asked();
    expect(passes(service.take(seen()))).toMatchObject([{ pass: 2 }]);
    expect(service.context.slices.failures).toBe(0);
  });

  test('§5.6: whoever missed their end looks again after a while, as often as it takes', () => {
    const service = begin(seen());
    for (let pass = 1; pass <= 40; pass++) {
      expect(region(service.take(unlisted(pass)))).toBe('awaitingLists');
      service.wait(10_000);
    }
    expect(region(service.take(ended(41, 'A', 'S')))).toBe('written.current');
  });

  test('§5.6: a compaction, and a retry, wait for them like any other pass', () => {
    const sparse = begin(seen(), ended(1, 'A', 'S', { compactable: true }))
      .wait(10_000)
      .take(unlisted(2));
    expect(region(sparse)).toBe('awaitingLists');
    const retried = begin(seen()).take(failed(1)).wait(5).take(unlisted(2));
    expect(region(retried)).toBe('awaitingLists');
    expect(retried.context.slices.failures).toBe(1);
  });

  test('the Service that vanishes meanwhile is let go', () => {
    expect(begin(seen()).take(unlisted(1), unseen).isOver).toBe(true);
  });
});

describe('another controller that writes for the Service', () => {
  const told = (service: Driver) =>
    service.askedOf('kube-event.write').map(({ reason, note }) => [reason, note.split(' ')[0]]);

  test('§7.1: the Service is told once, and again when it comes back', () => {
    const service = begin(seen({ otherWriter: 'else' }));
    expect(told(service)).toEqual([['OtherControllerWrites', 'else']]);
    service.take(ended(1, 'A', 'S'), seen({ otherWriter: 'else', wanted: 'B' }));
    expect(told(service)).toEqual([]);
    service.take(seen({ wanted: 'B' }), seen({ wanted: 'B', otherWriter: 'else' }));
    expect(told(service)).toHaveLength(1);
  });
});

describe('compaction', () => {
  const sparse = () => {
    const service = begin(seen(), ended(1, 'A', 'S', { compactable: true }));
    service.asked();
    return service;
  };

  test('slices that could be held by half as many are compacted after 10 s without a trigger', () => {
    const service = sparse().wait(9_999);
    expect(passes(service)).toEqual([]);
    expect(passes(service.wait(1))).toMatchObject([{ compact: true }]);
    expect(region(service.take(ended(2, 'A', 'T')))).toBe('written.current');
  });

  test('a trigger puts it off by 10 s', () => {
    const service = sparse()
      .wait(9_000)
      .take(seen({ wanted: 'B', standing: 'S', empty: false }));
    expect(passes(service)).toMatchObject([{ compact: false }]);
    service.take(ended(2, 'B', 'S', { compactable: true }));
    expect(passes(service.wait(9_999))).toEqual([]);
    expect(passes(service.wait(1))).toMatchObject([{ compact: true }]);
  });
});

describe('beginning and end', () => {
  test('the actor ends when neither routes nor slices call for it', () => {
    expect(begin(seen(), unseen).isOver).toBe(true);
    const both = begin(observed(), seen());
    expect(both.take(forgotten).isOver).toBe(false);
    expect(both.take(unseen).isOver).toBe(true);
    const other = begin(observed(), seen());
    expect(other.take(unseen).isOver).toBe(false);
    expect(other.take(forgotten).isOver).toBe(true);
  });

  test('that no group needs it is no news to a Service that lives for its slices: nothing is saved', () => {
    const stepper = createStepper(serviceChart);
    const stamp = { at: 1_000, random: 0.5 };
    const input = { id: 'service/shop/web', namespace: 'shop', name: 'web' };
    const born = stepper.begin(input, { ...seen(), ...stamp });
    expect(stepper.step(born.snapshot, { ...forgotten, ...stamp })).toMatchObject({
      ...{ changed: false, effects: [], timers: [] },
    });
    expect(stepper.step(born.snapshot, { ...unseen, ...stamp }).done).toBe(true);
  });

  test('slices are cared for again after nothing called for them, and routes too', () => {
    const service = begin(observed(), seen(), unseen);
    expect(region(service)).toBe('gone');
    service.asked();
    service.take(seen());
    expect(region(service)).toBe('reconciling');
    service.take(forgotten);
    expect(service.state).toContain('routes.gone');
    service.take(observed());
    expect(service.state).toContain('routes.resting.idle');
    expect(service.isOver).toBe(false);
  });
});
