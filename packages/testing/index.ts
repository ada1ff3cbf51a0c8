/**
 * `orrery/testing`: the library for testing your own features, with any test runner (docs/guides/testing.md).
 */
export { ChartDriver, type DrivenStep } from './charts/chart-driver.ts';
export { chartFindings, type Sample } from './charts/findings.ts';
export { type PlayStep, play } from './charts/play.ts';
export { matchTranscript } from './charts/transcript-file.ts';
export type { SampleEvent } from './charts/walk.ts';
export {
  type ActorNow,
  type ClusterOptions,
  type RanEffect,
  type Replica,
  type TestCluster,
  testCluster,
} from './cluster.ts';
export type { ApiWeather, RequestFate } from './kubernetes/api-weather.ts';
export { type Manifest, MemoryKubernetes } from './kubernetes/memory-kubernetes.ts';
export type { FaultKind } from './simulation/fault-kinds.ts';
export {
  type Invariant,
  type Simulated,
  type Simulation,
  type SimulationOptions,
  type SimulationOutcome,
  simulate,
} from './simulation/simulate.ts';
export { VirtualClock } from './time/virtual-clock.ts';
