/**
 * Every bound of the program in one place, with its reason (I6). What happens at each bound is tested. Those
 * of the development cluster are in packages/.
 */
export const limits = {
  /** Largest message taken from outside, bytes: contract (256 KiB). */
  messageBytes: 256 * 1024,
  /** Levels of nesting in a payload; our own have fewer than 20. Keeps hostile input off the stack. */
  messageDepth: 64,
  /**
   * Events waiting for one actor; more are refused with MAILBOX_FULL and, for mail, read again later. A group
   * of 100 Pods × 20 Services fits.
   */
  mailboxEvents: 4096,
  /**
   * How long mail to an actor whose record this release cannot read waits for a newer release before it
   * becomes a dead letter, ms: a roll-over takes minutes.
   */
  parkedMailMs: 600_000,
  /**
   * A deadline, an outcome or an observation over which a chart failed five times comes again after this
   * time, ms: rare enough to cost nothing.
   */
  failedAgainMs: 300_000,
  /** Effects of one actor that may wait for their outcome; a step that would exceed it parks the actor. */
  outboxEffects: 512,
  /**
   * Steps of one actor whose transition is not yet on the event stream; the next step waits. Keeps records
   * small.
   */
  unpublishedTransitions: 8,
  /** Steps whose message ids a record remembers (I5); the mail's sequence covers the ordinary case. */
  recentMessageIds: 8,
  /** A cell that has been idle for this time is packed, ms. */
  restAfterMs: 1_000,
  /** Saves in flight together for one replica: 256 reached the full rate of one nats-server. */
  savesInFlight: 256,
  /**
   * Effects of one type that run at the same time in one replica; types do not wait for each other, so a
   * thousand Services that never answer keep no Pod from being marked.
   */
  effectsInFlight: 1024,
  /** Saved actor record, bytes: below NATS' default max_payload of 1 MiB with a wide margin. */
  recordBytes: 512 * 1024,
  /** Probe calls in flight in one process: docs/features/routes.md §4.9. */
  probeCallsInFlight: 64,
  /** Bytes read of one probe answer: docs/features/routes.md §1.6. */
  probeAnswerBytes: 4096,
  /** Characters of the annotation `orrery.dev/probe`: URLs are shorter, and records quote it. */
  probeAnnotationChars: 2_048,
  /** Rounds of probes of workloads in progress in one replica: each is one or two connections. */
  workloadProbes: 4_096,
  /** The same for one namespace: one whose workloads never answer leaves room for the others. */
  workloadProbesOfNamespace: 256,
  /** Rounds of one namespace that wait for their turn; further ones have no result. */
  workloadProbesWaiting: 512,
  /** How long they wait, ms. */
  workloadProbeLineMs: 2_500,
  /** Actors in one answer to rpc.list: about 200 bytes each, so half of NATS' default max_payload (1 MiB). */
  listActors: 2_000,
  /** Transitions in one ActorView. */
  viewTransitions: 20,
  /** Processes of replicas heard in the last minute; others are ignored. Each costs time at every beat. */
  processesHeard: 512,
  /** Shards moved at the same time by plan: keeps most of the actors stepping while replicas come and go. */
  plannedMoves: 8,
  /** How long a node agent may read what it missed, ms; the rest is in the record of its proxier. */
  agentCatchUpMs: 5_000,
  /**
   * A node agent asks for its proxier's record again after this time, ms, while no replica answers; thousands
   * of agents may ask.
   */
  agentRetryMs: 5_000,
  /** How often a node agent compares what it knows with what its proxier's owner does, ms. */
  agentCompareMs: 60_000,
  /**
   * How long deadlines of an actor belong to the trace of the change that set them, ms: a Pod of a rolling
   * update is ready by then.
   */
  traceTimersMs: 300_000,
  /** Actors whose next observation belongs to a trace; a changed RouteGate concerns thousands at once. */
  traceNotes: 10_000,
  /** Time that an effect may take if its type names no other, ms. */
  effectTimeoutMs: 30_000,
  /** Answer to a request over NATS, ms. */
  requestTimeoutMs: 2_000,
  /** Requests of one endpoint in progress in one replica: far more than are sent; more get BUSY. */
  requestsInFlight: 1_024,
  /** The same for one sender that the server names: one that floods leaves room for everybody else. */
  requestsOfSender: 512,
  /** Pages that a replica reads at once for one endpoint, and histories over HTTP: a consumer each. */
  pagesAtOnce: 16,
  /**
   * Reads from a stream's leader in flight for one call: fills the pipe of one connection without crowding
   * out saves.
   */
  readsInFlight: 32,
  /** How long closing the bus waits for outstanding answers, ms; a replica has 5 s to stop. */
  closeTimeoutMs: 1_000,
  /** Acknowledgement of a stored message, ms; past it the outcome is unknown and read back. */
  appendTimeoutMs: 5_000,
  /** Objects in one page of a list: the page size of Kubernetes' own informers; about 5 MB of Pods. */
  kubePageObjects: 500,
  /**
   * One call to the Kubernetes API, answer included, ms; below effectTimeoutMs, so that the cause of a
   * failure is known.
   */
  kubeRequestMs: 25_000,
  /** One page of a list, ms: the API server's own limit on a request. */
  kubeListMs: 60_000,
  /**
   * Credentials (a token file, an exec plugin) must be there within this time, ms; such a plugin may ask a
   * remote service.
   */
  kubeCredentialsMs: 20_000,
  /** Credentials are looked up again after this time, ms; token files are replaced before they expire. */
  kubeCredentialsAgeMs: 10_000,
  /**
   * Bytes of one answer of the Kubernetes API: 500 objects of 256 KiB; an object has at most 1.5 MiB, most
   * have 10 KiB.
   */
  kubeAnswerBytes: 128 * 1024 * 1024,
  /** Bytes of one line of a watch: ten times what etcd stores in one object. */
  kubeLineBytes: 16 * 1024 * 1024,
  /**
   * Connections to the Kubernetes API, not counting watches; calls beyond wait for one (effectsInFlight
   * bounds them).
   */
  kubeSockets: 128,
  /** A watch without a byte for this much longer than it was asked to last is dead, ms. */
  kubeSilenceSlackMs: 15_000,
  /** First probe of an idle connection by TCP, ms; a vanished peer is noticed about ten seconds later. */
  kubeTcpKeepAliveMs: 10_000,
  /**
   * Leases that one replica follows at the same time, one for each election that it serves; each is a few
   * closures.
   */
  leasesFollowed: 16_384,
  /** Candidates of one election: each is about 100 bytes of a record that is saved with each renewal. */
  electionCandidates: 512,
  /**
   * Namespaces whose Leases a replica follows with a separate list and watch, for the elections that it
   * serves; beyond that one watch of all namespaces serves the rest.
   */
  leaseWatches: 64,
  /** Their names together, bytes: each occurs up to five times in a record, which stays below recordBytes. */
  electionNamesBytes: 64 * 1024,
  /** A proxy's report that was not taken in this time is repeated; also the longest pause before that, ms. */
  proxierReportMs: 5_000,
  /** After this time a report that was taken is said anew, ms. */
  proxierRestateMs: 900_000,
  /** Rounds that changed something whose changes a release remembers. */
  releaseChangesKept: 10,
  /** Objects of each sort that are named for one such round; the others are counted. */
  releaseNamesTold: 20,
  /**
   * Objects of one such round whose field changes are shown: ten rounds take at most about 100 KiB of a
   * record.
   */
  releaseObjectsTold: 6,
  /** Fields of one object whose changes are shown. */
  releaseFieldsTold: 8,
  /** Characters of such a value: enough to tell images or numbers apart. */
  releaseValueChars: 80,
  /** A candidate is answered within this time, even while its election moves to another replica (ms). */
  electionAnswerMs: 3_000,
  /**
   * Requests of candidates that a replica keeps while it does not know who will answer them; each is a few
   * hundred bytes.
   */
  electionRequestsKept: 4_096,
  /**
   * Characters of the context from which a reported step continues after unreported ones; keeps messages of
   * the feed small.
   */
  resumptionChars: 32_768,
  /** Leases whose last seen object a process keeps, so that a renewal is one request; 1 KiB each. */
  leasesKept: 16_384,
  /** Digests on their way into the world stream at the same time, for each mirrored resource. */
  worldPublishesInFlight: 128,
  /**
   * How long a tombstone stays in the world stream, s: a replica that was away for longer reads the stream
   * again.
   */
  worldTombstoneSeconds: 3_600,
  /** Longest pause before a digest that NATS did not take is offered again, ms; a reconnection ends it. */
  worldRetryMaxMs: 1_000,
  /**
   * A write to an EndpointSlice that the world does not show within this time, ms, no longer counts: ten
   * times a slow echo.
   */
  sliceEchoMs: 30_000,
  /** Slices remembered as gone, against late answers to our own writes. */
  slicesBuried: 1_000,
  /**
   * Writes to the slices of one Service at the same time: fills the connection to the API server and leaves
   * room for others.
   */
  sliceWritesAtOnce: 16,
  /**
   * How often a pass reads slices that changed meanwhile and plans again, before the Service waits and
   * retries.
   */
  sliceRereads: 5,
  /** Burst of pages of EndpointSlices that passes may read: the bound of Kubernetes' own work queues. */
  sliceReadsAtOnce: 100,
  /** The same for each second after that. */
  sliceReadsPerSecond: 10,
  /**
   * Calls of one sampling round at the same time: a few (docs/features/routes.md §4.6), so that one Service
   * never holds many of the 64.
   */
  probeCallsAtOnce: 3,
  /** So long a round keeps a slot, ms: sixty calls may end within it, and some of 64 slots are free soon. */
  probeTurnMs: 1_000,
  /** Calls of one sampling round, whatever replica count an object may name. */
  probeCallsPerRound: 1_000,
  /** A round ends this time after its first turn, ms: longer with one Service is too long to hear nothing. */
  probeRoundMs: 20_000,
  /** A round that has had no turn after this time, ms, gives up its place; the chart begins another. */
  probeLineMs: 60_000,
  /** A probe name server that has not answered within this time, ms, is asked once more, within 3 s. */
  probeDnsMs: 1_000,
  /** Turns that are waited for: effectsInFlight rounds with probeCallsAtOnce each. */
  probeCallsWaiting: 1_024 * 3,
  /** Pods of a group whose answers its Services keep although they have not asked; none in larger groups. */
  probeKeptAnswers: 256,
  /**
   * RouteGates of one namespace that are in use, the oldest first: each may add an actor for every Pod that
   * it selects. People write a few; a tool may create one for each Service of a namespace.
   */
  routeGatesPerNamespace: 64,
  /**
   * Kinds that RouteGates name as owners of groups and that are therefore mirrored: 0.7 MB each in a
   * replica.
   */
  groupKinds: 64,
  /** The same for the RouteGates of one namespace: one tenant leaves room for others. */
  groupKindsPerNamespace: 4,
  /**
   * Services of one group: a Pod's record has up to 600 bytes for each, and stays below recordBytes. In a
   * larger group nothing is verified and no Pod is released, and the RouteGate says so.
   */
  groupServices: 500,
  /**
   * Pods' questions in a Service's record, bytes; the same again for the Pods that it watches. About 1,200
   * Pods with short names; beyond that the oldest question makes room and is asked again within a minute.
   */
  routeWantBytes: 192 * 1024,
  /** Rounds that rest between calls: three quarters of effectsInFlight; beyond that they do not rest. */
  probeRoundsResting: 768,
  /** Groups remembered as silent, so that their next round starts with a single call. */
  probeSilentGroups: 4_096,
  /** The command line knows within this time whether it reaches NATS, ms: a person waits. */
  cliConnectMs: 5_000,
  /** An answer over NATS to the command line, ms: longer than a dead owner is missed and taken over from. */
  cliAnswerMs: 6_000,
  /** Pages of rpc.list that `orrery get` combines: 200,000 actors, more than anybody reads. */
  listPages: 100,
  /** Reviews of tokens at once; others wait: a flood of unknown tokens delays no Lease and no condition. */
  accessReviews: 8,
  /** How long their answers are cached, ms: a withdrawn permission takes effect soon. */
  accessCacheMs: 10_000,
  /** Such cached answers at the same time: people and dashboards, not the whole world. */
  accessCacheEntries: 256,
  /** A request to the HTTP server must be received within this time, ms. */
  httpRequestMs: 10_000,
  /** Body of a request to the HTTP server, bytes: an event's fields, or a token. */
  httpBodyBytes: 16 * 1024,
  /** How often the live feed sends bundles of rows, ms: faster than anybody reads, slower than steps. */
  inspectBundleMs: 100,
  /** Rows in one bundle: about 350 bytes each, a third of NATS' default max_payload (1 MiB). */
  inspectBundleRows: 1_000,
  /**
   * One watched step with its context, bytes: below NATS' default max_payload; a larger one is read again
   * with the actor.
   */
  inspectStepBytes: 900 * 1024,
  /** A watch ends by itself after at most this time, ms; watchers renew theirs after half of it. */
  inspectWatchMs: 10_000,
  /** Watchers at the same time: one for each replica whose page is open. */
  inspectWatchers: 64,
  /** Actors whose steps one watcher follows: open pages of one replica. */
  inspectActors: 64,
  /** Open live feeds of one replica; more are closed, with the reason. */
  inspectSessions: 64,
  /** A live feed's client that does not answer its closing is cut off after this time, ms. */
  inspectCloseMs: 2_000,
  /**
   * Bytes that a live feed may leave unread; rows wait meanwhile and are then sent once, in their latest
   * form.
   */
  inspectUnreadBytes: 4 * 1024 * 1024,
  /** One message from a live feed's client, bytes: it says what it watches. */
  inspectMessageBytes: 16 * 1024,
  /**
   * How often all rows are read again while somebody watches, ms: recovers what was lost on the way, and
   * finds actors parked without a step.
   */
  inspectReadAgainMs: 20_000,
  /**
   * Actors that a live feed holds: 350 bytes each in the replica and in the page; beyond that the page says
   * that it does not show all.
   */
  inspectRows: 50_000,
  /** Characters of an error in an answer over NATS, which may quote what was asked. */
  errorAnswerChars: 4_000,
  /** Characters of a dead letter's body in a list; a single letter is shown in full. */
  letterBodyChars: 4_000,
  /** Dead letters shown. */
  inspectDeadLetters: 50,
  /** How often a live feed's client must show a sign of life and its permission is checked again, ms. */
  inspectCheckMs: 15_000,
  /** Steps or dead letters in one answer of `rpc.history` and `rpc.dead`. */
  pageMessages: 500,
  /** The same in bytes, as stored: an answer stays below NATS' default max_payload of 1 MiB. */
  pageBytes: 512 * 1024,
  /** Steps in an actor's history: what a person steps through. */
  historySteps: 500,
  /** An actor's history, bytes; beyond it contexts of older steps are left out, then the steps. */
  historyBytes: 4 * 1024 * 1024,
  /** Reading an actor's history from the event stream, ms. */
  historyMs: 4_000,
  /** Head of a request to a node agent, bytes: load balancers and the kubelet send a few hundred. */
  httpHeadBytes: 8 * 1024,
  /** Connections to the HTTP server at the same time; beyond that the oldest idle one is closed. */
  httpConnections: 1_024,
  /** The same per address: one that holds that many leaves room for everybody else. */
  httpConnectionsPerAddress: 256,
  /** An idle connection is closed after this time, ms: load balancers close theirs after 60 s. */
  httpIdleMs: 72_000,
  /** Connections to one certificate authority: ten orders are in progress at a time. */
  acmeConnections: 16,
  /** Hosts that one Service or Ingress may request: each is an actor and a certificate. */
  hostsPerObject: 256,
  /** One answer of a certificate authority, ms; issuance itself is polled. */
  acmeRequestMs: 20_000,
  /** One that has it create an order or issue, ms: some do all of it before they answer. */
  acmeWorkMs: 45_000,
  /** Bytes of one answer of a certificate authority: a chain of ten large certificates fits many times. */
  acmeAnswerBytes: 1024 * 1024,
  /** One call of a DNS-01 webhook, ms: it answers when the record is published. */
  acmeWebhookMs: 90_000,
  /** How long the answer to an HTTP-01 challenge stays, s: longer than any attempt. */
  challengeSeconds: 900,
  /** Requests for unknown tokens that are looked up in NATS at one time; more get 503. */
  challengeLookups: 32,
  /** Order at an authority, ms. */
  acmeOrderMs: 55_000,
  /** Finding out what a challenge needs, ms: some requests to the authority and to name servers. */
  challengePlanMs: 55_000,
  /** Removing what was created for a challenge, ms: as long as a webhook may take, and a moment. */
  challengeClearMs: 120_000,
  /** Proof of control, ms: DNS may take minutes. */
  acmeAuthorizeMs: 205_000,
  /** Issuance, ms. */
  acmeFinalizeMs: 115_000,
  /** Verification of an Issuer, ms. */
  issuerVerifyMs: 45_000,
  /** Waiting for a Secret of an Issuer that does not work, ms: longer than until it is verified anyway. */
  issuerWatchMs: 330_000,
  /** A status that did not change is written again after this time, ms: others may have overwritten it. */
  restateMs: 3_600_000,
  /** One part of a round of reconciliation over a bundle, ms; the next part goes on with it. */
  releaseRoundMs: 300_000,
  /** After this time nothing more is begun in that part, ms: what has begun may wait for the API server. */
  releaseRoundPartMs: 240_000,
  /**
   * Objects of a bundle that are applied at the same time: leaves the API server to others, and a hundred
   * take under two seconds.
   */
  releaseAppliesInFlight: 4,
  /** Errors of one round that are kept in words; the others are counted. */
  releaseErrors: 5,
  /** Objects in a bundle: far more than the cluster objects of a service. */
  bundleObjects: 2_000,
  /** Bytes of one file of a bundle: Kubernetes takes no object above 1.5 MiB, and a file may hold several. */
  bundleFileBytes: 16 * 1024 * 1024,
  /** Lines of one sentence (one level, one text) in a span of time: enough to see what they share. */
  logLinesPerSpan: 20,
  /** That span, ms. At its end one line tells how many were left out. */
  logSpanMs: 10_000,
  /** Sentences whose lines are counted at one time: the program has some two hundred. */
  logSentences: 1_000,
  /** Fields or items kept of one object in a log line: a line is for reading. */
  logFields: 64,
  /** Levels of nesting kept in a log line; what lies deeper is left out. */
  logDepth: 6,
  /** Characters kept of one text in a log line: a stack trace fits. */
  logTextChars: 8_192,
} as const;

/** Number of shards; fixed when the streams are first made (interfaces: one of 64). */
export const shardCount = 64;

/**
 * Where actors of led charts live: beyond the shards that are dealt out, for its owner must be a replica that
 * may lead (docs/decisions/0002).
 */
export const ledShard = shardCount;
