/** What certificates count: each host by its own record, at rest or at work. */
import { expect, test } from 'vitest';
import { createCell, wake } from '../../../src/actors/host/cell.ts';
import type { Cell, ShardRun } from '../../../src/actors/host/owned.ts';
import { packRecord } from '../../../src/actors/host/records.ts';
import { createStepper } from '../../../src/actors/host/step.ts';
import { certificateGauges } from '../../../src/features/certificates/certificate-metrics.ts';
import { machines } from '../../chart-of.ts';
import { confirmed, newDomain, valid } from '../../machines/domain/domain-script.ts';

const chart = machines.domain;

function cellOf(
  host: string,
  { state, context }: { readonly state: string; readonly context: unknown },
): Cell {
  const record = {
    ...{ format: 1, machine: 'domain', version: chart?.version ?? 0, rev: 1, fence: 1, at: 1, since: 1 },
    ...{ timers: [], outbox: [], feed: [], world: 1, mail: 0, recentIds: [], lastError: null, gone: false },
    snapshot: { value: state, context, status: 'active' },
  };
  const packed = packRecord(record as unknown as Parameters<typeof packRecord>[0]);
  return createCell(`domain/_/${host}`, {} as ShardRun, packed, state);
}

function rows(...cells: Cell[]): string[] {
  const run = { phase: 'active', cells: new Map(cells.map((cell) => [cell.id, cell])) };
  const shards = { open: () => [run] } as unknown as Parameters<typeof certificateGauges>[0]['shards'];
  return [...certificateGauges({ shards })].map(
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

test('of a record that this release cannot read nothing is told, and it breaks nothing', () => {
  const cell = createCell('domain/_/d.example.com', {} as ShardRun, new Uint8Array([0xc1]), 'valid');
  expect(rows(cell, cellOf('a.example.com', good))).toEqual(told);
});
