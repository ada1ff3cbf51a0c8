/**
 * Everything of the program and of its development cluster that `roll-over.ts` and `record-fixture.ts` use:
 * the only file that names its location.
 */

export { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
export { freePort } from '../../packages/dev-cluster/network/ports.ts';
export { startRelay } from '../../packages/dev-cluster/network/relay.ts';
export { createReplica } from '../../packages/dev-cluster/processes/processes.ts';
export { namespaces, nodes } from '../../packages/dev-cluster/resources.ts';
export { startElectionScenario } from '../../packages/dev-cluster/scenarios/election-scenario.ts';
export { startOutsideScenario } from '../../packages/dev-cluster/scenarios/outside-scenario.ts';
export { startCertificateScenario } from '../../packages/dev-cluster/scenarios/scenario-certificates.ts';
export { prepareBundle } from '../../packages/dev-cluster/scenarios/scenario-release.ts';
export { type Scenario, startScenario } from '../../packages/dev-cluster/scenarios/shop.ts';
export { createControl } from '../../src/actors/control/control-client.ts';
export type { ActorRecord } from '../../src/actors/host/records.ts';
export { unpackRecord } from '../../src/actors/host/records.ts';
export { sleep, systemClock as clock, timestamp } from '../../src/base/clock.ts';
export type { ActorId } from '../../src/base/ids.ts';
export type { KubeObject, KubePort, KubeResource } from '../../src/base/kube-port.ts';
export { silentLog as log } from '../../src/base/log.ts';
export { systemRandom as random } from '../../src/base/random.ts';
export type { ActorSummary, Transition } from '../../src/base/views.ts';
export type { Bus, StoredMessage, StreamName } from '../../src/bus/bus.ts';
export { decode, encodeJson } from '../../src/bus/codec.ts';
export { connectNats } from '../../src/bus/nats/nats.ts';
export { subjects as subjectsOf } from '../../src/bus/subjects.ts';
export { domains, issuers, secrets } from '../../src/features/certificates/resources.ts';
export { elections, leases } from '../../src/features/elections/resources.ts';
export { externalWorkloads } from '../../src/features/endpoints/resources.ts';
export { pods, routeGates } from '../../src/features/routes/resources.ts';
export { connectKube } from '../../src/kube/api/kube-connection.ts';
export { services } from '../../src/kube/api/resources.ts';
