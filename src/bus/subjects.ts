/**
 * Every subject that Orrery uses: the only file that builds and parses them.
 *
 * Promises: a `parse…` function accepts exactly what the builder of the same name makes; any other subject,
 * or one not in canonical form, gives `undefined`. The empty namespace of a Kubernetes object is the token
 * `_`; a namespace that is really called `_` is escaped. Actor ids already contain `_` and keep it.
 */
import { type ActorId, isActorKind, type PartName, parseActorId, type ShardName } from '../base/ids.ts';
import { readToken, writeToken } from './subject-token.ts';

export type ElectionAction = 'campaign' | 'renew' | 'resign' | 'get';

/** What a request subject asks for. */
export type RpcCall =
  | { readonly call: 'get' | 'send'; readonly id: ActorId }
  | { readonly call: 'list' | 'shards' }
  | {
      readonly call: 'election';
      readonly namespace: string;
      readonly name: string;
      /** The candidate whose own subject this is; null: the subject without a candidate. */
      readonly candidate: string | null;
      readonly action: ElectionAction;
    };

export type Subjects = ReturnType<typeof subjects>;

const electionActions: readonly string[] = ['campaign', 'renew', 'resign', 'get'];
/** Replaces the resource in the subjects of the watches' fences, so that these are in the world's stream. */
const watchToken = '_watch';

/** The subjects of one cluster: `orrery.<cluster>.…`. */
export function subjects(cluster: string) {
  const prefix = `orrery.${writeToken(cluster)}`;
  return {
    prefix,
    ...actorSubjects(prefix),
    ...worldSubjects(prefix),
    ...releaseSubjects(prefix),
    ...requestSubjects(prefix),
  };
}

/** An id that is written in a subject as it is: most are. */
const isPlain = /^[a-z][a-z0-9-]{0,62}\/[A-Za-z0-9_-]+\/[A-Za-z0-9_-]+$/;

export function actorTokens(id: ActorId): readonly [string, string, string] {
  const { kind, namespace, name } = parseActorId(id);
  return [kind, writeToken(namespace), writeToken(name)];
}

function actorSubjects(prefix: string) {
  const path = (id: ActorId) => (isPlain.test(id) ? id.replaceAll('/', '.') : actorTokens(id).join('.'));
  return {
    /** Where people and programs send events to an actor; the mail stream stores them under `mail`. */
    send: (id: ActorId) => `${prefix}.send.${path(id)}`,
    mail: (shard: number, id: ActorId) => `${prefix}.mail.${shard}.${path(id)}`,
    /**
     * Where one actor sends to another, in the same stream. Only replicas may publish here, and they know the
     * shard.
     */
    tell: (shard: number, id: ActorId) => `${prefix}.tell.${shard}.${path(id)}`,
    state: (shard: ShardName, id: ActorId) => `${prefix}.state.${shard}.${path(id)}`,
    fence: (shard: ShardName) => `${prefix}.fence.${shard}`,
    event: (id: ActorId) => `${prefix}.event.${path(id)}`,
    dead: `${prefix}.dead`,

    sendAll: `${prefix}.send.*.*.*`,
    mailAll: `${prefix}.mail.*.*.*.*`,
    mailOfShard: (shard: number) => `${prefix}.mail.${shard}.*.*.*`,
    /** As `mail`, for one kind only. */
    mailOfKind: (shard: number, kind: string) => `${prefix}.mail.${shard}.${writeToken(kind)}.*.*`,
    tellOfKind: (shard: number, kind: string) => `${prefix}.tell.${shard}.${writeToken(kind)}.*.*`,
    tellAll: `${prefix}.tell.*.*.*.*`,
    tellOfShard: (shard: number) => `${prefix}.tell.${shard}.*.*.*`,
    stateAll: `${prefix}.state.*.*.*.*`,
    stateOfKind: (shard: ShardName, kind: string) => `${prefix}.state.${shard}.${writeToken(kind)}.*.*`,
    stateOfShard: (shard: ShardName) => `${prefix}.state.${shard}.*.*.*`,
    fenceAll: `${prefix}.fence.*`,
    eventAll: `${prefix}.event.*.*.*`,
    eventsOf: (id: ActorId) => `${prefix}.event.${path(id)}`,
    eventsOfKind: (kind: string) => `${prefix}.event.${writeToken(kind)}.*.*`,

    /** How far the shard's mail and feed have been processed; stored beside the shard's records. */
    checkpoint: (shard: ShardName) => `${prefix}.state.${shard}._checkpoint._._`,

    /** The subject that the sender used, from the one under which the mail stream stores the message. */
    sendOfMail: (subject: string) =>
      subject.replace(/^(.*)\.mail\.\d+\.([^.]+\.[^.]+\.[^.]+)$/, (whole, start, rest) =>
        start === prefix ? `${prefix}.send.${rest}` : whole,
      ),

    parseSend: (subject: string) => readActor(tokensAfter(`${prefix}.send.`, subject)),
    parseMail: (subject: string) => readSharded(tokensAfter(`${prefix}.mail.`, subject)),
    parseTell: (subject: string) => readSharded(tokensAfter(`${prefix}.tell.`, subject)),
    parseState: (subject: string) => readPlaced(tokensAfter(`${prefix}.state.`, subject)),
    parseEvent: (subject: string) => readActor(tokensAfter(`${prefix}.event.`, subject)),
    parseFence: (subject: string) => readPlace(tokensAfter(`${prefix}.fence.`, subject)),
  };
}

function worldSubjects(prefix: string) {
  return {
    /** @param namespace empty for a cluster-scoped object */
    world: (resource: string, namespace: string, name: string) =>
      `${prefix}.world.${writeToken(resource)}.${writeNamespace(namespace)}.${writeToken(name)}`,
    /** The fence of a resource's mirror; it guards writes to the resource's part of `world`. */
    worldFence: (resource: string) => `${prefix}.world.${watchToken}._.${writeToken(resource)}`,

    /** The whole world, with the fences of the watches. */
    worldAll: `${prefix}.world.*.*.*`,
    worldOf: (resource: string) => `${prefix}.world.${writeToken(resource)}.*.*`,
    worldFenceAll: `${prefix}.world.${watchToken}._.*`,

    /** undefined also for a fence, which is no object. */
    parseWorld: (subject: string) => readWorld(tokensAfter(`${prefix}.world.`, subject)),
    /** The resource of the fence. */
    parseWorldFence: (subject: string) => readName(tokensAfter(`${prefix}.world.${watchToken}._.`, subject)),
  };
}

/**
 * What the replicas know of each other's releases. In the stream of the records, so that one batch can be
 * guarded by both.
 */
function releaseSubjects(prefix: string) {
  return {
    /** A live replica and its release. */
    node: (replica: string) => `${prefix}.node.${writeToken(replica)}`,
    nodeAll: `${prefix}.node.*`,
    /** Written in one batch with each new or changed node, so a guard on it guards all nodes. */
    nodesEpoch: `${prefix}.nodes-epoch`,
    /** The releases that are compatible with the applied bundle. */
    releaseStatus: (bundle: string) => `${prefix}.release-status.${writeToken(bundle)}`,
    releaseStatusAll: `${prefix}.release-status.*`,
    /** The replica. */
    parseNode: (subject: string) => readName(tokensAfter(`${prefix}.node.`, subject)),
    /** The bundle. */
    parseReleaseStatus: (subject: string) => readName(tokensAfter(`${prefix}.release-status.`, subject)),
  };
}

function requestSubjects(prefix: string) {
  return {
    member: (replica: string) => `${prefix}.member.${writeToken(replica)}`,
    memberAll: `${prefix}.member.*`,
    /** Signs of life between two beats of a replica. */
    pulse: (replica: string) => `${prefix}.pulse.${writeToken(replica)}`,
    /** Where one process answers whoever asks whether it is there. */
    alive: (replica: string, incarnation: string) =>
      `${prefix}.alive.${writeToken(replica)}.${writeToken(incarnation)}`,
    /** The replica. */
    parseMember: (subject: string) => readName(tokensAfter(`${prefix}.member.`, subject)),

    rpcGet: (id: ActorId) => `${prefix}.rpc.get.${actorTokens(id).join('.')}`,
    rpcSend: (id: ActorId) => `${prefix}.rpc.send.${actorTokens(id).join('.')}`,
    rpcList: `${prefix}.rpc.list`,
    rpcShards: `${prefix}.rpc.shards`,
    /** The contents of the feed and of the dead letters, page by page. */
    rpcHistory: `${prefix}.rpc.history`,
    rpcDead: `${prefix}.rpc.dead`,
    rpcDeadResend: `${prefix}.rpc.dead.resend`,
    rpcDeadDrop: `${prefix}.rpc.dead.drop`,
    rpcElection: (namespace: string, name: string, action: ElectionAction) =>
      `${prefix}.rpc.election.${writeToken(namespace)}.${writeToken(name)}.${action}`,
    /** A candidate's own subject, to which NATS permissions can be bound. */
    rpcCandidate: (
      namespace: string,
      name: string,
      candidate: string,
      action: Exclude<ElectionAction, 'get'>,
    ) =>
      `${prefix}.rpc.election.${writeToken(namespace)}.${writeToken(name)}.${writeToken(candidate)}.${action}`,
    /** What is known of a Node, for its agent. */
    rpcNode: (node: string) => `${prefix}.rpc.node.${writeToken(node)}`,
    rpcNodeAll: `${prefix}.rpc.node.*`,
    parseRpcNode: (subject: string) => readName(tokensAfter(`${prefix}.rpc.node.`, subject)),
    /** Removes the remains of a kind whose feature is no longer loaded. */
    rpcForget: `${prefix}.rpc.forget`,
    /** A request that a loaded feature answers. */
    rpcFeature: (feature: string, name: string) =>
      `${prefix}.rpc.feature.${writeToken(feature)}.${writeToken(name)}`,
    rpcGetAll: `${prefix}.rpc.get.*.*.*`,
    rpcSendAll: `${prefix}.rpc.send.*.*.*`,
    rpcElectionAll: `${prefix}.rpc.election.*.*.*`,
    rpcCandidateAll: `${prefix}.rpc.election.*.*.*.*`,
    parseRpc: (subject: string) => readRpc(tokensAfter(`${prefix}.rpc.`, subject)),

    /** Requests between replicas; each word is escaped separately. */
    peer: (...words: string[]) => `${prefix}.peer.${words.map(writeToken).join('.')}`,
    peerAll: `${prefix}.peer.>`,
    /** Steps of all actors, as sent to watchers. */
    peerSteps: `${prefix}.peer.step.*.*.*`,
    parsePeer: (subject: string) => readAll(tokensAfter(`${prefix}.peer.`, subject)),
  };
}

function tokensAfter(start: string, subject: string): readonly string[] {
  return subject.startsWith(start) ? subject.slice(start.length).split('.') : [];
}

function readAll(tokens: readonly string[]): readonly string[] | undefined {
  const words = tokens.map(readToken);
  return words.length > 0 && words.every((word) => word !== undefined) ? words : undefined;
}

function readName(tokens: readonly string[]): string | undefined {
  return tokens.length === 1 ? readToken(tokens[0] ?? '') : undefined;
}

function readActor(tokens: readonly string[]): ActorId | undefined {
  if (tokens.length !== 3) return undefined;
  const [kind, namespace, name] = tokens.map(readToken);
  if (kind === undefined || namespace === undefined || name === undefined) return undefined;
  // A slash in the namespace would shift the parts of the id's text.
  if (!isActorKind(kind) || namespace.includes('/')) return undefined;
  return `${kind}/${namespace}/${name}`;
}

function readShard(tokens: readonly string[]): number | undefined {
  const [text = ''] = tokens;
  return tokens.length === 1 && /^(?:0|[1-9][0-9]{0,3})$/.test(text) ? Number(text) : undefined;
}

function readPlace(tokens: readonly string[]): ShardName | undefined {
  const [text = ''] = tokens;
  if (tokens.length === 1 && /^[a-z][a-z0-9-]*-[0-9]{1,3}$/.test(text)) return text as PartName;
  return readShard(tokens);
}

function readPlaced(tokens: readonly string[]): { shard: ShardName; id: ActorId } | undefined {
  const shard = readPlace(tokens.slice(0, 1));
  const id = readActor(tokens.slice(1));
  return shard === undefined || id === undefined ? undefined : { shard, id };
}

function readSharded(tokens: readonly string[]): { shard: number; id: ActorId } | undefined {
  const shard = readShard(tokens.slice(0, 1));
  const id = readActor(tokens.slice(1));
  return shard === undefined || id === undefined ? undefined : { shard, id };
}

function readWorld(
  tokens: readonly string[],
): { resource: string; namespace: string; name: string } | undefined {
  if (tokens.length !== 3 || tokens[0] === watchToken) return undefined;
  const [resource, namespace, name] = [
    readToken(tokens[0] ?? ''),
    readNamespace(tokens[1] ?? ''),
    readToken(tokens[2] ?? ''),
  ];
  if (resource === undefined || namespace === undefined || name === undefined) return undefined;
  return { resource, namespace, name };
}

function readRpc(tokens: readonly string[]): RpcCall | undefined {
  const [call = '', ...rest] = tokens;
  if (call === 'get' || call === 'send') {
    const id = readActor(rest);
    return id === undefined ? undefined : { call, id };
  }
  if (call === 'list' || call === 'shards') return rest.length === 0 ? { call } : undefined;
  return call === 'election' ? readElection(rest) : undefined;
}

function readElection(tokens: readonly string[]): RpcCall | undefined {
  if (tokens.length !== 3 && tokens.length !== 4) return undefined;
  const words = tokens.map(readToken);
  const [namespace, name] = words;
  const [action, candidate] = [words.at(-1), tokens.length === 3 ? null : words[2]];
  if (namespace === undefined || name === undefined || candidate === undefined) return undefined;
  if (!isElectionAction(action) || (candidate !== null && action === 'get')) return undefined;
  return { call: 'election', namespace, name, candidate, action };
}

function isElectionAction(text: string | undefined): text is ElectionAction {
  return text !== undefined && electionActions.includes(text);
}

function writeNamespace(namespace: string): string {
  if (namespace === '') return '_';
  return namespace === '_' ? '=5F' : writeToken(namespace);
}

function readNamespace(token: string): string | undefined {
  if (token === '_') return '';
  return token === '=5F' ? '_' : readToken(token);
}
