// The package orrery. Made by: npm run api-report

// chart-words.d.ts
/** Words for charts of features: assignments for one event, the guards that most charts need, reasons. */
import { assign } from 'xstate';
import { type Standing, type Tell, type Told } from '../machines/tell.ts';
interface AnyEvent {
    readonly type: string;
}
/** The events of the union that have that type. */
type Of<E extends AnyEvent, T extends string> = Extract<E, {
    readonly type: T;
}>;
/**
 * Changes the context where the event is of that type, and nothing else: for `setup({ actions })`, where
 * context and events are known from `types`.
 */
export declare function on<C extends object, E extends AnyEvent, const T extends E['type']>(type: T, change: (args: {
    readonly context: C;
    readonly event: Of<E, T>;
}) => Partial<C>): ReturnType<typeof assign<C, E, undefined, E, never>>;
/** Guard: nothing in the world calls for the actor any more (`<kind>.observed` with `facts: null`). */
export declare const isGone: ({ event }: {
    readonly event: AnyEvent;
}) => boolean;
/** Guard: the facts of `<kind>.observed` are others than `context.facts`. */
export declare const isNews: ({ context, event, }: {
    readonly context: {
        readonly facts: unknown;
    };
    readonly event: AnyEvent;
}) => boolean;
/** Why an actor stands as it stands, for people: typed by the chart's own context. Pure, and never throws. */
export declare function tell<Context>(say: (standing: Standing<Context>) => Told): Tell<unknown>;
export {};

// effect.d.ts
/**
 * What a chart asks the outside for, together with who does it.
 *
 * An effect is saved with the step that asks for it, before it runs (I1); it may run again after a crash and
 * must then change nothing (I5): `tools.key` is the same on every run of the same effect. It ends with
 * exactly one outcome, an event: `<name>.done` with what `run` returned, or `<name>.failed`.
 */
import type { FeatureMetrics } from '../actors/feature.ts';
import type { ActorId } from '../base/ids.ts';
import type { Log } from '../base/log-port.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import { type EffectDeclaration } from '../machines/effect.ts';
import type { HttpAnswer, HttpRequest } from './http-call.ts';
import type { KubernetesTools } from './kubernetes/tools.ts';
import type { Need } from './need.ts';
/** What the runner of an effect works with. */
export interface Tools {
    /** `<actor id>/<rev>/<index>`: the same on every run of the same effect. */
    readonly key: string;
    readonly actor: ActorId;
    /** Aborted when the time is over, or the replica loses the actor: end at once. */
    readonly signal: AbortSignal;
    /** Hands an intermediate event to the actor (not the outcome). */
    readonly emit: (event: PlainEvent) => void;
    /** Milliseconds since the epoch; tests have a clock of their own. */
    readonly now: () => number;
    readonly log: Log;
    /** Counts under the names that the feature declares. */
    readonly metrics: FeatureMetrics;
    readonly kubernetes: KubernetesTools;
    /** One HTTP call. @throws OrreryError HTTP_UNREACHABLE if there is no answer */
    readonly http: (request: HttpRequest) => Promise<HttpAnswer>;
}
export interface EffectOptions<P extends object, R> {
    /** Does it. What it throws becomes `<name>.failed` (`Failure` gives it a code and a pause). */
    readonly run: (params: P, tools: Tools) => Promise<R>;
    /** Longest time that one run may take, ms; 30,000 if absent, 900,000 at most. */
    readonly timeoutMs?: number | ((params: P) => number);
    /** How many of it may run at a time in one replica; 16 if absent, 64 at most. */
    readonly inFlight?: number;
    /** It never fails: it is tried again with growing pauses until it is done. */
    readonly untilDone?: true;
    /** What it needs of Kubernetes, for `orrery access`. */
    readonly needs?: readonly Need[];
}
/** A declared effect, with its name, what it is asked with, and what it ends with. */
export interface Effect<T extends string = string, P extends object = object, R = unknown> extends EffectDeclaration<{
    readonly type: T;
} & P> {
    readonly needs: readonly Need[];
    run(params: P, tools: Tools): Promise<R>;
}
/** What an effect ends with. */
export type Done<T extends string, R> = {
    readonly type: `${T}.done`;
} & (R extends object ? Readonly<R> : unknown);
export interface Failed<T extends string> {
    readonly type: `${T}.failed`;
    readonly message: string;
    /**
     * `TIMEOUT`, `KUBE_CONFLICT`, `HTTP_UNREACHABLE` (docs/reference/errors.md), or the code of a `Failure`.
     */
    readonly code: string;
    /** The HTTP status, where somebody answered with one; null: nobody did. */
    readonly status: number | null;
    /** For how long whoever refused asks to wait; null: it says nothing. */
    readonly retryAfterMs: number | null;
}
type OutcomeOf<E> = E extends Effect<infer T, infer _P, infer R> ? Done<T, R> | Failed<T> : {
    readonly type: 'effect.settled';
    readonly effect: string;
    readonly error: string | null;
};
/** The outcomes of a list of effects: what a chart hears of them. */
export type EventsOf<L extends readonly AnyDeclared[]> = OutcomeOf<L[number]>;
/** An effect of a feature, or one that the engine runs (`message`). */
export type AnyDeclared = Effect | EffectDeclaration;
/**
 * Declares an effect. @param type its name, `drain.evict`: it stands in records, and is a promise to the
 * versions before and after
 * @throws OrreryError USAGE if a bound is passed
 */
export declare function effect<const T extends string, P extends object, R>(type: T, { run, timeoutMs, inFlight, untilDone, needs, }: EffectOptions<P, R>): Effect<T, P, R>;
export {};

// failure.d.ts
import type { PlainEvent } from '../base/plain-event.ts';
/** Thrown by the runner of an effect: the chart hears the code and the pause with `<name>.failed`. */
export declare class Failure extends Error {
    readonly code: string;
    readonly retryAfterMs: number | null;
    constructor(message: string, options?: {
        readonly code?: string;
        readonly retryAfterMs?: number;
        readonly cause?: unknown;
    });
}
/** @param cause what was thrown; absent: the time was over */
export declare function failedEvent(type: string, message: string, cause?: unknown): PlainEvent;

// feature-options.d.ts
/** What a feature is made from. */
import type { GenericSchema } from 'valibot';
import type { FeatureMetrics, MetricDeclaration } from '../actors/feature.ts';
import type { ActorId } from '../base/ids.ts';
import type { Log } from '../base/log-port.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import type { Tools } from './effect.ts';
import type { Kind } from './kind.ts';
import type { Need } from './need.ts';
/** A saved step, as a feature is told of it. */
export interface StepTold {
    readonly id: ActorId;
    /** States as text; null: the actor began with it. */
    readonly from: string | null;
    readonly to: string;
    readonly event: PlainEvent;
    /** ms since the epoch */
    readonly at: number;
    readonly context: unknown;
}
/** A request subject, `<prefix>.rpc.feature.<feature>.<name>`: one replica with the feature answers. */
export interface RequestEndpoint<S extends GenericSchema = GenericSchema> {
    /** For people. */
    readonly about: string;
    readonly request: S;
    /** @returns plain data. What it throws goes to the one who asked */
    answer(request: unknown, tools: Omit<Tools, 'key' | 'actor' | 'emit'>): Promise<object>;
}
export interface FeatureOptions {
    /** One word of a-z, 0-9 and hyphens; different from the features that come with the program. */
    readonly name: string;
    /**
     * Semantic version. Of the versions that live replicas have, the highest owns the kinds; the others take
     * the rest, and say so in /readyz.
     */
    readonly version: string;
    readonly kinds: readonly Kind[];
    /** What it needs of Kubernetes beside what its watches and `kubernetes` effects need. */
    readonly needs?: readonly Need[];
    /** By name. */
    readonly requests?: Readonly<Record<string, RequestEndpoint>>;
    /** By name: what its effects and `onStep` count. */
    readonly metrics?: Readonly<Record<string, MetricDeclaration>>;
    /** Called after each saved step of its actors. What it throws is said in the log. */
    readonly onStep?: (step: StepTold, tools: {
        readonly metrics: FeatureMetrics;
        readonly log: Log;
    }) => void;
}

// feature.d.ts
/**
 * A feature of anybody's own: the descriptor that the engine takes, made from kinds.
 *
 * Promises: it is the same descriptor as that of the features that come with the program
 * (actors/feature.ts); what is wrong with it is said when it is made, all at once, with names. Its kinds live
 * in parts of their own (actors/shards/parts.ts), so that replicas without the feature, or with another
 * version of it, leave its actors alone.
 */
import type { Feature } from '../actors/feature.ts';
import type { FeatureOptions } from './feature-options.ts';
/**
 * Makes a feature. @throws OrreryError USAGE that names everything that is wrong with it
 */
export declare function defineFeature(options: FeatureOptions): Feature;

// http-call.d.ts
/**
 * One HTTP call of a feature: bounded in time and bytes, redirects are not followed.
 *
 * Whatever it is asked with stands in a record and in the feed (I9): secrets go into the headers that the
 * effect itself works out.
 */
import type { Clock } from '../base/clock.ts';
export interface HttpRequest {
    /** `GET` if absent. */
    readonly method?: string;
    readonly url: string;
    readonly headers?: Readonly<Record<string, string>>;
    /** A text is sent as it is, anything else as JSON. */
    readonly body?: unknown;
    /** 10,000 if absent. */
    readonly timeoutMs?: number;
    /** Of the answer's body; 65,536 at most. */
    readonly bytesMax?: number;
}
export interface HttpAnswer {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    /** The body read as JSON; null where it is none. */
    readonly json: unknown;
}
/** As Node's own `fetch`. */
export type Fetch = (url: string, options: RequestInit) => Promise<Response>;
/** If the request names no time, ms. */
export declare const httpTimeoutMs = 10000;
/** @throws OrreryError HTTP_UNREACHABLE */
export declare function callHttp({ method, url, headers, body, timeoutMs, bytesMax }: HttpRequest, { clock, signal, fetch }: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly fetch: Fetch;
}): Promise<HttpAnswer>;

// http-effect.d.ts
/** The effect that makes one HTTP call. */
import { type Effect, type Tools } from './effect.ts';
import { type HttpAnswer, type HttpRequest } from './http-call.ts';
/**
 * An effect that makes one HTTP call. An answer of any status is done; no answer is failed.
 *
 * @param options.headers worked out when the call is made: the place for secrets, which must not be in params
 */
export declare function http<const T extends string>(type: T, options?: {
    readonly headers?: (tools: Tools) => Promise<Readonly<Record<string, string>>>;
}): Effect<T, HttpRequest, HttpAnswer>;

// index.d.ts
/**
 * The package `orrery`: what a feature of anybody's own is written with (docs/reference/own-features.md).
 *
 * Everything here is a promise: test/api/report.test.ts holds its signatures against docs/reference/api.d.ts.
 */
export * as v from 'valibot';
export { and, assign, cancel, enqueueActions, initialTransition, not, or, raise, setup, stateIn, transition, } from 'xstate';
export type { Feature, FeatureMetrics, Labels, MetricDeclaration } from '../actors/feature.ts';
export { backOffMs } from '../base/back-off.ts';
export { equal } from '../base/equal.ts';
export { type ActorId, actorId, parseActorId } from '../base/ids.ts';
export type { KubeList, KubeObject, ListOptions } from '../base/kube-port.ts';
export type { Log } from '../base/log-port.ts';
export type { PlainEvent } from '../base/plain-event.ts';
export type { Fact, Health } from '../base/views.ts';
export type { ActorInput } from '../machines/actor-input.ts';
export { actionsOf } from '../machines/effect.ts';
export { messageSend as message } from '../machines/effects.ts';
export type { EffectSettled, Stamp } from '../machines/stamp.ts';
export { isIn, type Standing, type Tell, type Told } from '../machines/tell.ts';
export { isGone, isNews, on, tell } from './chart-words.ts';
export { type AnyDeclared, type Done, type Effect, type EffectOptions, type EventsOf, effect, type Failed, type Tools, } from './effect.ts';
export { Failure } from './failure.ts';
export { defineFeature } from './feature.ts';
export type { FeatureOptions, RequestEndpoint, StepTold } from './feature-options.ts';
export type { HttpAnswer, HttpRequest } from './http-call.ts';
export { http } from './http-effect.ts';
export { type JoinOf, join, type ObjectName, type Observed, type RelatedOf, type Relation, type Relations, related, } from './join.ts';
export { defineKind, type Kind, type KindOptions, type MessageFields } from './kind.ts';
export type { KindName, NamedResource } from './kind-name.ts';
export { kubernetes, type OfFinalizer, type OnResource } from './kubernetes/effects.ts';
export type { AppliedObject, ApplyOptions, ApplyParams, Changed, DeleteParams, EventParams, Evicted, EvictParams, KubernetesTools, ObjectAt, Owner, PatchParams, StatusCondition, StatusParams, Written, } from './kubernetes/tools.ts';
export type { Need } from './need.ts';
export { type ObjectFacts, type Watch, type Watched, type WatchOptions, watch } from './watch.ts';

// join.d.ts
/**
 * What the world says to the actors of a feature: one actor for each object of a watch, told of that object
 * and of those of other watches that belong to it.
 *
 * Promises: an actor is told once everything that its facts are made of was listed, so that nothing which
 * merely isn't known yet looks as if it did not exist; what `facts` or `to` throws is said in the log and
 * leaves its own actor untold (I8). A look costs what it finds, not the size of the world.
 */
import type { Join } from '../actors/world/join.ts';
import type { World } from '../actors/world/world.ts';
import type { Log } from '../base/log-port.ts';
import { type Watch, type Watched } from './watch.ts';
/** The object whose actor is meant. */
export interface ObjectName {
    /** Absent or empty: an object of the whole cluster. */
    readonly namespace?: string;
    readonly name: string;
}
/** Objects of another watch, and to which of the joined objects each belongs. */
export interface Relation<D = unknown> {
    readonly of: Watch<D>;
    to(object: Watched<D>): Iterable<ObjectName>;
}
/** @param to the joined objects to which an object belongs: a Pod to its Node. Pure */
export declare function related<D>(of: Watch<D>, to: (object: Watched<D>) => Iterable<ObjectName>): Relation<D>;
export type Relations = Readonly<Record<string, Relation>>;
/** By name of the relation: the objects that belong to the actor, in no order. */
export type RelatedOf<R extends Relations> = {
    readonly [K in keyof R]: R[K] extends Relation<infer D> ? ReadonlyArray<Watched<D>> : never;
};
export interface JoinOf<F extends object = object> {
    readonly each: Watch;
    readonly relations: Relations;
    facts(object: Watched<unknown>, related: Readonly<Record<string, ReadonlyArray<Watched<unknown>>>>): F | null;
}
/** What the chart of the kind `K` is told: facts; null: nothing calls for the actor any more. */
export type Observed<K extends string, J extends JoinOf> = {
    readonly type: `${K}.observed`;
    readonly facts: J extends JoinOf<infer F> ? F | null : never;
};
/**
 * One actor for each object of `each` for which `facts` answers something else than null; its id is
 * `<kind>/<namespace or _>/<name>`. The chart hears `<kind>.observed` with the facts whenever something of
 * what they are made of changed, and with `facts: null` once nothing calls for it.
 *
 * @param options.facts plain data. Pure
 */
export declare function join<D, F extends object, const R extends Relations = Record<never, never>>(each: Watch<D>, options: {
    readonly with?: R;
    readonly facts: (object: Watched<D>, related: RelatedOf<R>) => F | null;
}): JoinOf<F>;
/** The watches that a join is made of, each once. */
export declare const watchesIn: ({ each, relations }: JoinOf) => readonly Watch[];
export interface JoinParts {
    readonly feature: string;
    readonly kind: string;
    readonly world: Pick<World, 'get' | 'entries' | 'statement'>;
    readonly log: Log;
}
/** The join in one replica: an index over the world's picture, and nothing more. */
export declare function runJoin(spec: JoinOf, { feature, kind, world, log }: JoinParts): Join;

// kind-name.d.ts
/** `<apiVersion>/<Kind>` */
export type KindName = `${string}/${string}`;
export interface NamedResource {
    /** `v1`, `apps/v1` */
    readonly apiVersion: string;
    readonly kind: string;
    /** Lower case, for rights; absent: the regular one. What calls are made to is looked up in the cluster. */
    readonly plural?: string;
}
/** @throws OrreryError USAGE */
export declare function readKindName(name: KindName | NamedResource): NamedResource;
/** Empty for the core group. */
export declare function groupOf({ apiVersion }: NamedResource): string;
/** As the API server makes it of most kinds. */
export declare function pluralOf({ kind, plural }: NamedResource): string;

// kind.d.ts
/** A kind of actors: its chart, what it is told, what may be said to it, and who does what it asks for. */
import { type ObjectEntries, type ObjectSchema } from 'valibot';
import type { AnyStateMachine } from 'xstate';
import type { KindMessages } from '../actors/admission.ts';
import type { Chart } from '../machines/chart.ts';
import type { AnyDeclared, Effect } from './effect.ts';
import type { JoinOf } from './join.ts';
/** Fields of a message, without its type: `v.object({ reason: v.string() })`. */
export type MessageFields = ObjectSchema<ObjectEntries, undefined>;
export interface KindOptions extends Pick<Chart, 'shortName' | 'version' | 'description' | 'migrations' | 'merge' | 'quiet' | 'deferrable' | 'moves' | 'leaps' | 'tell'> {
    /** One word of a-z, 0-9 and hyphens: the first part of its actors' ids, and of the names of its events. */
    readonly name: string;
    /** Its input is `ActorInput`; its actions are assignments, `raise`, `cancel`, and effects. */
    readonly machine: AnyStateMachine;
    readonly effects?: readonly AnyDeclared[];
    /** What the world says to it; absent: only messages bring its actors into being (`createdBy`). */
    readonly join?: JoinOf;
    /** Messages that bring an actor into being. */
    readonly createdBy?: readonly string[];
    /** By type: what people and programs may send (`orrery send`). */
    readonly messages?: Readonly<Record<string, MessageFields>>;
    /** By type: what other actors may say (`message`), and nobody else. */
    readonly internal?: Readonly<Record<string, MessageFields>>;
    /** Whether the sender of an internal message may say it; absent: every actor may. */
    readonly holds?: KindMessages['holds'];
}
export interface Kind {
    readonly chart: Chart;
    readonly messages: KindMessages;
    readonly join: JoinOf | null;
    /** Those that the feature itself runs. */
    readonly effects: readonly Effect[];
}
/** @throws OrreryError USAGE for a message whose fields are no plain `v.object` */
export declare function defineKind(options: KindOptions): Kind;
/** The engine runs the others. */
export declare function isRunnable(declared: AnyDeclared): declared is Effect;

// kubernetes/effects.d.ts
/**
 * Effects on Kubernetes that come with the program: each is made under a name of the feature's own, so that
 * two of them never share an outcome, and brings the rights that it needs.
 */
import { type Effect } from '../effect.ts';
import { type KindName, type NamedResource } from '../kind-name.ts';
import type { ApplyOptions, ApplyParams, Changed, DeleteParams, EventParams, Evicted, EvictParams, ObjectAt, Owner, PatchParams, StatusParams, Written } from './tools.ts';
export interface OnResource {
    readonly resource: KindName | NamedResource;
}
export interface OfFinalizer extends OnResource {
    /** `example.com/drain` */
    readonly finalizer: string;
}
/** `kubernetes.apply('greeting.write', { resource: 'v1/ConfigMap' })`: an effect of that name. */
export declare const kubernetes: {
    /** Server-side apply. */
    readonly apply: <const T extends string>(type: T, { resource, ...options }: OnResource & ApplyOptions) => Effect<T, ApplyParams, Written>;
    /** JSON merge patch. */
    readonly patch: <const T extends string>(type: T, { resource }: OnResource) => Effect<T, PatchParams, Written>;
    /** Conditions, `observedGeneration` and further fields of the status. */
    readonly status: <const T extends string>(type: T, { resource }: OnResource) => Effect<T, StatusParams, Changed>;
    /** An Event about an object; every replica has the right. */
    readonly event: <const T extends string>(type: T) => Effect<T, EventParams, void>;
    readonly addFinalizer: <const T extends string>(type: T, { resource, finalizer }: OfFinalizer) => Effect<T, ObjectAt, Changed>;
    /** An object that is gone has none. */
    readonly removeFinalizer: <const T extends string>(type: T, { resource, finalizer }: OfFinalizer) => Effect<T, ObjectAt, Changed>;
    /** Adds an owner reference. */
    readonly own: <const T extends string>(type: T, { resource }: OnResource) => Effect<T, ObjectAt & {
        readonly owner: Owner;
    }, Changed>;
    /** Deletes with preconditions; an object that is gone is done. */
    readonly delete: <const T extends string>(type: T, { resource }: OnResource) => Effect<T, DeleteParams, {
        readonly existed: boolean;
    }>;
    /** Evicts a Pod as its budgets allow. */
    readonly evict: <const T extends string>(type: T) => Effect<T, EvictParams, Evicted>;
};

// kubernetes/tools.d.ts
/**
 * What a feature may do to Kubernetes: the calls, each as one function of what it needs.
 *
 * Promises of all of them: they reject with an OrreryError (KUBE_NOT_FOUND, KUBE_CONFLICT, KUBE_THROTTLED,
 * KUBE_SERVER, KUBE_UNREACHABLE, KUBE_REFUSED); with a `uid` they touch that very object and no other of its
 * name; done twice they change nothing the second time. Which resource a kind is is looked up in the cluster
 * once.
 */
import type { KubeList, KubeObject, ListOptions } from '../../base/kube-port.ts';
import type { KindName, NamedResource } from '../kind-name.ts';
/** An object by its name. */
export interface ObjectAt {
    /** Absent: an object of the whole cluster. */
    readonly namespace?: string;
    readonly name: string;
    /** Precondition: the object must be this one. */
    readonly uid?: string;
}
/** An object that owns another: it is in the same namespace, or of the whole cluster. */
export interface Owner {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
    readonly controller?: boolean;
    readonly blockOwnerDeletion?: boolean;
}
/** An object to be applied: its name, and the fields that it shall have. */
export interface AppliedObject {
    readonly metadata: {
        readonly name: string;
        readonly namespace?: string;
        readonly labels?: Readonly<Record<string, string>>;
        readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly [field: string]: unknown;
}
export interface ApplyParams {
    readonly object: AppliedObject;
    readonly owner?: Owner;
}
export interface ApplyOptions {
    /** Who owns the fields that are applied; `orrery-<feature>` if absent. */
    readonly fieldManager?: string;
    /** Takes over fields of other managers; absent: they are a conflict (KUBE_CONFLICT). */
    readonly force?: boolean;
}
/** What stands in the cluster after a write. */
export interface Written {
    readonly uid: string;
    readonly resourceVersion: string;
    /** 0 where the resource counts none. */
    readonly generation: number;
}
export interface PatchParams extends ObjectAt {
    /** Precondition: the object must be in this version. */
    readonly resourceVersion?: string;
    /** A JSON merge patch: null removes a field, lists are replaced whole. */
    readonly patch: Readonly<Record<string, unknown>>;
}
export interface StatusCondition {
    readonly type: string;
    readonly status: 'True' | 'False' | 'Unknown';
    /** CamelCase, for machines. */
    readonly reason: string;
    readonly message: string;
}
export interface StatusParams extends ObjectAt {
    /** Written to the status and to each condition; absent: neither has one. */
    readonly observedGeneration?: number;
    /**
     * Put in the place of those of the same types; the others stay. Times of transition follow Kubernetes'
     * rule.
     */
    readonly conditions?: readonly StatusCondition[];
    /** Further fields of the status. */
    readonly fields?: Readonly<Record<string, unknown>>;
}
export interface EventParams {
    readonly regarding: {
        readonly apiVersion: string;
        readonly kind: string;
        readonly namespace?: string;
        readonly name: string;
        readonly uid: string;
    };
    readonly eventType: 'Normal' | 'Warning';
    /** CamelCase, for machines. */
    readonly reason: string;
    /** For people, at most 1 KiB. */
    readonly note: string;
}
export interface DeleteParams extends ObjectAt {
    /** Precondition: the object must be in this version. */
    readonly resourceVersion?: string;
    readonly gracePeriodSeconds?: number;
}
export interface EvictParams {
    readonly namespace: string;
    readonly name: string;
    readonly uid?: string;
    readonly gracePeriodSeconds?: number;
}
export interface Evicted {
    /** `blocked`: a PodDisruptionBudget allows it not now; `gone`: there is no such Pod (any more). */
    readonly outcome: 'evicted' | 'gone' | 'blocked';
    /** How long the API server asks to wait; null: it says nothing. */
    readonly retryAfterMs: number | null;
    /** Its words; empty if it was evicted. */
    readonly message: string;
}
export interface Changed {
    /** false: it was so already, or the object is gone. */
    readonly changed: boolean;
}
type Kind = KindName | NamedResource;
export interface KubernetesTools {
    /** @throws OrreryError KUBE_NOT_FOUND */
    get(kind: Kind, at: ObjectAt): Promise<KubeObject>;
    list(kind: Kind, options?: ListOptions): Promise<KubeList>;
    /** Makes it. @throws OrreryError KUBE_CONFLICT if there is one of that name */
    create(kind: Kind, object: AppliedObject): Promise<KubeObject>;
    /** Server-side apply: makes the object, or the fields so. */
    apply(kind: Kind, params: ApplyParams, options?: ApplyOptions): Promise<Written>;
    patch(kind: Kind, params: PatchParams): Promise<Written>;
    status(kind: Kind, params: StatusParams): Promise<Changed>;
    /** Writes an Event about an object; the same again is counted. */
    event(params: EventParams): Promise<void>;
    addFinalizer(kind: Kind, finalizer: string, at: ObjectAt): Promise<Changed>;
    removeFinalizer(kind: Kind, finalizer: string, at: ObjectAt): Promise<Changed>;
    /** Adds an owner reference. */
    own(kind: Kind, owner: Owner, at: ObjectAt): Promise<Changed>;
    /** @returns whether there was such an object. @throws OrreryError KUBE_CONFLICT if it is another one */
    delete(kind: Kind, params: DeleteParams): Promise<{
        readonly existed: boolean;
    }>;
    /** Asks for a Pod to be evicted, as its budgets allow. */
    evict(params: EvictParams): Promise<Evicted>;
}
export {};

// need.d.ts
/** What a feature needs of Kubernetes beside its watches, for the role that `orrery access` prints. */
export interface Need {
    /** Empty for the core group. */
    readonly apiGroup: string;
    /** `pods`, `pods/eviction` */
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    /** For whoever reads the role: what it is for. */
    readonly why: string;
}

// watch.d.ts
/**
 * What a feature keeps of the Kubernetes objects that it watches, typed by a schema.
 *
 * Promises: an object that cannot be read as the schema has it, or of which more would be kept than
 * `featureLimits.digestBytes`, is left out and said in the log; it hurts no other object (I8). A feature's
 * watch is a mirror of its own: what one feature keeps, or fails to read, changes nothing for another.
 */
import { type GenericSchema, type InferOutput } from 'valibot';
import type { WatchDeclaration } from '../actors/world/watch-declaration.ts';
import type { AnyDigest, DigestBase } from '../base/digests.ts';
import type { KubeObject } from '../base/kube-port.ts';
import { type KindName, type NamedResource } from './kind-name.ts';
/** What every digest tells of its object, beside what the feature keeps. */
export interface ObjectFacts extends DigestBase {
    /** Empty for an object of the whole cluster. */
    readonly namespace: string;
    readonly name: string;
}
/** An object as a join gets it: what every digest tells, and what the feature keeps of it. */
export type Watched<D> = ObjectFacts & D;
export interface WatchOptions<S extends GenericSchema> {
    /**
     * In Kubernetes' own words, such as `app=web,tier!=cache`: the API server leaves out the rest. Absent: all.
     */
    readonly labelSelector?: string;
    /** What is kept: plain data, nothing secret (it is stored in NATS), at most 16 KiB of each object. */
    readonly digest: S;
    /**
     * From the object to what the schema takes. Absent: the object itself. What it throws leaves the object
     * out.
     */
    readonly read?: (object: KubeObject) => unknown;
    /** Which objects are kept at all. Absent: all of them. Pure. */
    readonly wants?: (kept: InferOutput<S>) => boolean;
}
/** A watch, to be joined with others (`join`, `related`). */
export interface Watch<D = unknown> {
    readonly resource: NamedResource;
    readonly labelSelector: string | null;
    /** @returns what is kept, or why nothing is */
    keep(object: KubeObject): Kept<D>;
    wants(kept: D): boolean;
}
export type Kept<D> = {
    readonly kept: D;
} | {
    readonly problem: string;
};
/**
 * Watches a kind of Kubernetes objects, of any group, with a namespace or without.
 *
 * @param kind `v1/Node`, `apps/v1/Deployment`; or in parts, with the plural where it is no regular one
 * @throws OrreryError USAGE if it is not of that form
 */
export declare function watch<const S extends GenericSchema>(kind: KindName | NamedResource, { labelSelector, digest, read, wants }: WatchOptions<S>): Watch<InferOutput<S>>;
/** The name in the world of what the feature watches, and of the mirror that says it was listed. */
export declare function worldName(feature: string, { resource: { apiVersion, kind } }: Watch): string;
/** The watch as the mirror takes it. @param report told of each object that is left out */
export declare function declarationOf({ name: feature, kinds }: {
    readonly name: string;
    readonly kinds: readonly string[];
}, watch: Watch, report: (object: KubeObject, problem: string) => void): WatchDeclaration;
/** The object as joins get it; null where the world holds none. */
export declare function watchedOf<D>(namespace: string, name: string, digest: AnyDigest | null): Watched<D> | null;
