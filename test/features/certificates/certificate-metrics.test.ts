/** What certificates count: each host by its own record, at rest or at work. */
import { expect, test } from 'vitest';
import { createCell, wake } from '../../../src/actors/host/cell.ts';
import type { Cell, ShardRun } from '../../../src/actors/host/owned.ts';
import { packRecord } from '../../../src/actors/host/records.ts';
import { createStepper } from '../../../src/actors/host/step.ts';
import type { Transition } from '../../../src/base/views.ts';
import { attemptOutcome, certificateGauges } from '../../../src/features/certificates/certificate-metrics.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { machines } from '../../chart-of.ts';
import { ActorDriver } from '../../machines/actor-driver.ts';
import {
  confirmed,
  finalizing,
  fresh,
  newDomain,
  observed,
  storing,
  valid,
  wordOf,
} from '../../machines/domain/domain-script.ts';
import { domainFacts, issuerFacts, target } from './certificate-samples.ts';

const chart = machines.domain;

function cellOf(
  name: string,
  { state, context }: { readonly state: string; readonly context: unknown },
  kind: 'domain' | 'issuer' = 'domain',
): Cell {
  const record = {
    ...{ format: 1, machine: kind, version: machines[kind]?.version ?? 0, rev: 1, fence: 1, at: 1, since: 1 },
    ...{ timers: [], outbox: [], feed: [], world: 1, mail: 0, recentIds: [], lastError: null, gone: false },
    snapshot: { value: state, context, status: 'active' },
  };
  const packed = packRecord(record as unknown as Parameters<typeof packRecord>[0]);
  return createCell(`${kind}/_/${name}`, {} as ShardRun, packed, state);
}

function gauges(...cells: Cell[]) {
  const run = { phase: 'active', cells: new Map(cells.map((cell) => [cell.id, cell])) };
  const shards = { open: () => [run] } as unknown as Parameters<typeof certificateGauges>[0]['shards'];
  return [...certificateGauges({ shards })];
}

function rows(...cells: Cell[]): string[] {
  return gauges(...cells).map(
    ({ name, labels, value }) => `${name.replace('orrery_certificate_', '')} ${labels?.host} ${value}`,
  );
}

const good = confirmed(valid());
const ends = (good.context.certificate?.notAfter ?? 0) / 1000;
const told = [
  `expiry_timestamp_seconds a.example.com ${ends}`,
  `lifetime_seconds a.example.com ${90 * 86_400}`,
];

test('§9.4: a host is told by the certificate that its record names, at rest and awake', () => {
  const cell = cellOf('a.example.com', good);
  expect(rows(cell)).toEqual(told);
  expect(rows(cell)).toEqual(told);
  if (chart) wake(cell, createStepper(chart), good.now);
  expect(rows(cell)).toEqual(told);
});

test('one without a certificate is missing; one that nobody asks for is neither', () => {
  expect(rows(cellOf('b.example.com', newDomain()))).toEqual(['missing b.example.com 1']);
  expect(rows(cellOf('c.example.com', { ...good, context: good.context, state: 'clearing' }))).toEqual([]);
});

test('an order is issued also where one of its Secrets then lacks the certificate', () => {
  const second = { namespace: 'shop', secretName: 'second' };
  const sources = domainFacts.sources.flatMap((one) => [one, { ...one, ...second, uid: 'second' }]);
  const both = { ...domainFacts, sources, targets: [target, second], stored: [null, null] };
  const domain = storing(finalizing()).take(observed(both));
  const [from, { attempt }] = [domain.state, domain.context];
  const refused = [{ ...second, message: 'exceeded quota' }];
  const event = {
    type: 'certificate.stored',
    attempt,
    certificate: fresh(domain),
    foreign: [],
    refused,
  } as const;
  domain.take(event);
  expect(wordOf(domain)).toBe('lacking');
  const step = { id: 'domain/_/app.example.com', from, to: domain.state, event };
  expect(attemptOutcome(step as unknown as Transition, domain.context)).toBe('issued');
});

test('of an Issuer it is told whether it is ready, and of its CA when it ends', () => {
  const internal: ActorDriver<IssuerEvent, IssuerContext> = new ActorDriver('issuer', '_', 'internal');
  internal.take({ type: 'issuer.observed', facts: { ...issuerFacts, kind: 'ca' } });
  const told = ({ state, context }: { state: string; context: IssuerContext } = internal) => {
    return gauges(cellOf('internal', { state, context }, 'issuer')).map(
      ({ name, labels, value }) => `${name} ${labels?.issuer} ${value}`,
    );
  };
  expect(told()).toEqual(['orrery_issuer_ready internal 0']);
  const ca = { notBefore: 1_000_000, notAfter: 1_767_225_600_000 };
  internal.take({ type: 'issuer.verified', check: internal.context.check, ca });
  expect(told()).toEqual([
    'orrery_issuer_ready internal 1',
    'orrery_issuer_ca_expiry_timestamp_seconds internal 1767225600',
    'orrery_issuer_ca_lifetime_seconds internal 1767224600',
  ]);
  // Its authority refused an order, and nobody has tried again.
  const trying = { state: 'serving.trying', context: internal.context };
  expect(told(trying)[0]).toBe('orrery_issuer_ready internal 1');
  const refused = { ...trying, context: { ...internal.context, refusals: 1 } };
  expect(told(refused)[0]).toBe('orrery_issuer_ready internal 0');
  expect(internal.askedOf('issuer.report').at(-1)?.status.conditions).toMatchObject([
    { message: 'Issuer internal can issue certificates; its CA expires 2026-01-01 00:00 UTC.' },
  ]);
});

test('of a record that this release cannot read nothing is told, and it breaks nothing', () => {
  const cell = createCell('domain/_/d.example.com', {} as ShardRun, new Uint8Array([0xc1]), 'valid');
  expect(rows(cell, cellOf('a.example.com', good))).toEqual(told);
});
