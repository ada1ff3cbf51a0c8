/**
 * The registry: every machine of the program, its version and whether its actors are durable.
 *
 * A changed state name or context field means a new version here and a step in `migrations.ts`.
 */
import type { AnyStateMachine } from 'xstate';
import { podDescription, podMachine, podVersion } from './pod.ts';
import { proxierDescription, proxierMachine, proxierVersion } from './proxier.ts';
import { serviceDescription, serviceMachine, serviceVersion } from './service.ts';
import { shardDescription, shardMachine, shardVersion } from './shard.ts';
import { watchDescription, watchMachine, watchVersion } from './watch.ts';

export interface Chart {
  readonly name: string;
  readonly version: number;
  /** One sentence: what an actor of this kind is for. */
  readonly description: string;
  readonly machine: AnyStateMachine;
  /** Durable: an actor with a record, owned by shard. Otherwise a part of a replica's own life, kept in memory. */
  readonly durable: boolean;
  /** Events that bring a durable actor into being. */
  readonly createdBy: readonly string[];
}

export const machines: Readonly<Record<string, Chart>> = {
  pod: {
    name: 'pod',
    version: podVersion,
    description: podDescription,
    machine: podMachine,
    durable: true,
    createdBy: ['pod.observed'],
  },
  service: {
    name: 'service',
    version: serviceVersion,
    description: serviceDescription,
    machine: serviceMachine,
    durable: true,
    createdBy: ['service.observed'],
  },
  proxier: {
    name: 'proxier',
    version: proxierVersion,
    description: proxierDescription,
    machine: proxierMachine,
    durable: true,
    createdBy: ['proxier.queued', 'proxier.updated'],
  },
  shard: {
    name: 'shard',
    version: shardVersion,
    description: shardDescription,
    machine: shardMachine,
    durable: false,
    createdBy: [],
  },
  watch: {
    name: 'watch',
    version: watchVersion,
    description: watchDescription,
    machine: watchMachine,
    durable: false,
    createdBy: [],
  },
};
