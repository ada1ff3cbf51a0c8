/** Somebody else keeps changing our EndpointSlices (docs/features/endpoints.md §5.9). */
import { expect, test } from 'vitest';
import type { ServiceEvent } from '../../../src/machines/service/route-events.ts';
import type { ServiceContext } from '../../../src/machines/service/service-context.ts';
import { ActorDriver } from '../actor-driver.ts';

class Contested extends ActorDriver<ServiceEvent, ServiceContext> {
  #pass = 0;

  constructor() {
    super('service', 'shop', 'web');
    this.shows('-').ends();
  }

  shows(standing: string, wanted = 'A'): this {
    const facts = { uid: 'web-1', selects: true, wanted, standing, empty: false, otherWriter: '' };
    return this.take({ type: 'service.endpoints.observed', facts });
  }

  /** The pass in progress reverts the edit. */
  ends(wanted = 'A', editor?: string): this {
    this.#pass += 1;
    const end = {
      pass: this.#pass,
      made: wanted,
      wanted,
      standing: 'S',
      empty: false,
      version: '7',
      writes: 1,
    };
    return this.take({
      type: 'slices.reconciled',
      compactable: false,
      ...end,
      ...(editor === undefined ? {} : { editor }),
    });
  }

  edits(times: number): this {
    for (let n = 0; n < times; n++) {
      this.wait(1_000).shows('edited');
      if (this.isHeld) this.wait(this.patience ?? 0);
      this.ends('A', 'kubectl-edit');
    }
    return this;
  }

  get isHeld(): boolean {
    return this.state.includes('endpoints.written.contested');
  }

  notes() {
    return this.askedOf('kube-event.write').map(({ reason, note }) => [reason, note]);
  }
}

test('the first edits are reverted at once, and cause no Event', () => {
  const service = new Contested();
  service.asked();
  for (let n = 0; n < 4; n++) {
    service.wait(1_000).shows('edited');
    expect(service.state).toContain('endpoints.reconciling');
    service.ends('A', 'kubectl-edit');
  }
  expect(service.notes()).toEqual([]);
});

test('an edit each second is told once in ten minutes, with who makes it, and reverted within 5 s', () => {
  const service = new Contested().edits(30);
  const notes = service.notes();
  expect(notes).toHaveLength(1);
  expect(notes[0]).toEqual([
    'EndpointSlicesContested',
    expect.stringContaining('kubectl-edit keeps changing'),
  ]);
  service.shows('edited');
  expect(service.isHeld).toBe(true);
  expect(service.patience).toBeGreaterThan(1_000);
  expect(service.patience).toBeLessThanOrEqual(5_000);
  expect(service.wait(5_000).state).toContain('endpoints.reconciling');
  service.ends('A', 'kubectl-edit').edits(150);
  expect(service.notes().length).toBeLessThanOrEqual(2);
});

test('what the slices must say is written at once all the same, and a quiet minute ends it', () => {
  const service = new Contested().edits(30).shows('edited');
  expect(service.isHeld).toBe(true);
  service.shows('edited', 'B');
  expect(service.state).toContain('endpoints.reconciling');
  service.ends('B').wait(60_000).shows('edited', 'B');
  expect(service.state).toContain('endpoints.reconciling');
});

test('an edit that its author takes back needs no pass', () => {
  const service = new Contested().edits(30).shows('edited');
  expect(service.shows('S').state).toContain('endpoints.written.current');
});
