/**
 * The registry: every machine of the program, its version and whether its actors are durable.
 *
 * A changed state name or context field means a new version here and a step in `migrations.ts`.
 */
import type { AnyStateMachine } from 'xstate';
import { domainDescription, domainMachine, domainVersion } from './domain/domain.ts';
import { electionDescription, electionMachine, electionVersion } from './election/election.ts';
import { issuerDescription, issuerMachine, issuerVersion } from './issuer/issuer.ts';
import { podDescription, podMachine, podVersion } from './pod/pod.ts';
import { proxierDescription, proxierMachine, proxierVersion } from './proxier/proxier.ts';
import { releaseDescription, releaseMachine, releaseVersion } from './release/release.ts';
import { explainRelease } from './release/release-telling.ts';
import { serviceDescription, serviceMachine, serviceVersion } from './service/service.ts';
import { shardDescription, shardMachine, shardVersion } from './shard/shard.ts';
import { watchDescription, watchMachine, watchVersion } from './watch/watch.ts';
import { workloadDescription, workloadMachine, workloadVersion } from './workload/workload.ts';

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
  /** What a person should know of an actor beside its state, from its context: lines for `orrery explain`. */
  readonly explain?: (context: unknown) => readonly string[];
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
    createdBy: ['service.observed', 'service.endpoints.observed'],
  },
  release: {
    name: 'release',
    version: releaseVersion,
    description: releaseDescription,
    machine: releaseMachine,
    durable: true,
    createdBy: ['release.led'],
    explain: explainRelease,
  },
  proxier: {
    name: 'proxier',
    version: proxierVersion,
    description: proxierDescription,
    machine: proxierMachine,
    durable: true,
    createdBy: ['proxier.queued', 'proxier.updated'],
  },
  election: {
    name: 'election',
    version: electionVersion,
    description: electionDescription,
    machine: electionMachine,
    durable: true,
    createdBy: ['election.observed'],
  },
  domain: {
    name: 'domain',
    version: domainVersion,
    description: domainDescription,
    machine: domainMachine,
    durable: true,
    createdBy: ['domain.observed'],
  },
  issuer: {
    name: 'issuer',
    version: issuerVersion,
    description: issuerDescription,
    machine: issuerMachine,
    durable: true,
    // A domain may hear of its Issuer before the Issuer's own shard does.
    createdBy: ['issuer.observed', 'permit.asked'],
  },
  shard: {
    name: 'shard',
    version: shardVersion,
    description: shardDescription,
    machine: shardMachine,
    durable: false,
    createdBy: [],
  },
  workload: {
    name: 'workload',
    version: workloadVersion,
    description: workloadDescription,
    machine: workloadMachine,
    durable: true,
    createdBy: ['workload.observed'],
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
