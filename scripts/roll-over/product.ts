/** Everything of the program and of its development cluster that `roll-over.ts` and `record-fixture.ts` use: the one place that names where it is. */
export type { ActorRecord } from '../../src/actors/records.ts';
export { unpackRecord } from '../../src/actors/records.ts';
export type { Bus, StoredMessage, StreamName } from '../../src/bus/bus.ts';
export { decode, encodeJson } from '../../src/bus/codec.ts';
export { connectNats } from '../../src/bus/nats.ts';
export { subjects as subjectsOf } from '../../src/bus/subjects.ts';
export { sleep, systemClock as clock, timestamp } from '../../src/clock.ts';
export { createControl } from '../../src/control.ts';
export { type DevCluster, startDevCluster } from '../../src/dev/cluster.ts';
export { startElectionScenario } from '../../src/dev/election-scenario.ts';
export { startOutsideScenario } from '../../src/dev/outside-scenario.ts';
export { freePort } from '../../src/dev/ports.ts';
export { createReplica } from '../../src/dev/processes.ts';
export { startRelay } from '../../src/dev/relay.ts';
export { type Scenario, startScenario } from '../../src/dev/scenario.ts';
export { startCertificateScenario } from '../../src/dev/scenario-certificates.ts';
export { prepareBundle } from '../../src/dev/scenario-release.ts';
export type { ActorId } from '../../src/ids.ts';
export { connectKube } from '../../src/kube/client.ts';
export type { KubeObject, KubePort, KubeResource } from '../../src/kube/port.ts';
export {
  domains,
  elections,
  externalWorkloads,
  issuers,
  leases,
  namespaces,
  nodes,
  pods,
  routeGates,
  secrets,
  services,
} from '../../src/kube/resources.ts';
export { silentLog as log } from '../../src/log.ts';
export { systemRandom as random } from '../../src/random.ts';
export type { ActorSummary, Transition } from '../../src/views.ts';
