/**
 * The package `orrery`: the API for features of your own (docs/reference/own-features.md).
 *
 * Everything here is a promise: test/api/report.test.ts compares the signatures with docs/reference/api.txt.
 */
export * as v from 'valibot';
export {
  and,
  assign,
  cancel,
  enqueueActions,
  initialTransition,
  not,
  or,
  raise,
  setup,
  stateIn,
  transition,
} from 'xstate';
export type { Feature, FeatureMetrics, Labels, MetricDeclaration } from '../actors/feature.ts';
export type { MessageFields, MessageOptions, Origin, Parties, Party } from '../actors/kind.ts';
export type { Need } from '../actors/need.ts';
export { backOffMs } from '../base/back-off.ts';
export { equal } from '../base/equal.ts';
export { type ActorId, actorId, parseActorId } from '../base/ids.ts';
export type { KubeList, KubeObject, ListOptions } from '../base/kube-port.ts';
export type { Log } from '../base/log-port.ts';
export type { PlainEvent } from '../base/plain-event.ts';
export type { Fact, Health } from '../base/views.ts';
export type { Changed, ObjectAt, StatusCondition, StatusFields } from '../kube/effects/object-edit.ts';
export type { ActorInput } from '../machines/actor-input.ts';
export { actionsOf } from '../machines/effect.ts';
export { messageSend as message } from '../machines/effects.ts';
export type { EffectSettled, Stamp } from '../machines/stamp.ts';
export { isIn, type Standing, type Tell, type Told } from '../machines/tell.ts';
export { isGone, isNews, on, tell } from './chart-words.ts';
export {
  type AnyDeclared,
  type Done,
  type Effect,
  type EffectOptions,
  type EventsOf,
  effect,
  type Failed,
  http,
  type Tools,
} from './effect.ts';
export { Failure } from './failure.ts';
export { defineFeature } from './feature.ts';
export type { FeatureOptions, RequestEndpoint, StepTold } from './feature-options.ts';
export type { HttpAnswer, HttpRequest } from './http-call.ts';
export {
  type JoinOf,
  join,
  type ObjectName,
  type Observed,
  type RelatedOf,
  type Relation,
  type Relations,
  related,
} from './join.ts';
export { defineKind, type Kind, type KindOptions } from './kind.ts';
export type { KindName, NamedResource } from './kind-name.ts';
export { kubernetes, type OfFinalizer, type OnResource } from './kubernetes/effects.ts';
export type {
  AppliedObject,
  ApplyOptions,
  ApplyParams,
  DeleteParams,
  EventParams,
  Evicted,
  EvictParams,
  KubernetesTools,
  Owner,
  PatchParams,
  StatusParams,
  Written,
} from './kubernetes/tools.ts';
export { type PerReplica, perReplica } from './per-replica.ts';
export { type ObjectFacts, type Watch, type Watched, type WatchOptions, watch } from './watch.ts';
