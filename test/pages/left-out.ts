/**
 * Which commands on the pages are not run, each with the reason, and the substitutes for words that a reader
 * replaces.
 */

export interface LeftOut {
  readonly what: RegExp;
  readonly because: string;
}

/** Matched with the command as its page shows it. Each has to leave out at least one. */
export const leftOut: readonly LeftOut[] = [
  {
    what: /^npm start\b|^orrery dev --no-scenario/,
    because: 'it runs: the rest is asked of what it started, and of the features that it loaded',
  },
  {
    what: /^(kind|docker|skopeo|cosign|identity=|sha256sum)\b/,
    because: 'no kind, Docker, registry or release here; npm run image:test builds and starts the image',
  },
  {
    what: /^helm /,
    because: 'Helm is in no Debian suite; test/conformance/helm.test.ts has them where there is one',
  },
  {
    what: /^npm run (chart|image|image:test|docs:site|roll-over|screenshots)\b/,
    because: 'takes minutes, or needs Helm, buildah, the packages of the site, or a second checkout',
  },
  {
    what: /^npm (test|run (check|format|scenarios|sim:mutations|build|docs|layouts|new-feature))\b/,
    because: 'the tests themselves, or writes into the checkout: other tests hold what it writes',
  },
  {
    what: /^(npx |node_modules\/\.bin\/|KUBECONFIG=\S+ npx )?vitest |^node --test examples\//,
    because: 'tests, which this run has anyway',
  },
  {
    what: /^(KUBECONFIG=\S+ )?npm run chaos\b/,
    because: 'takes minutes; test/chaos/chaos.test.ts runs a short one',
  },
  { what: /^npm run sim(:soak)?\b(?! .*--seeds 1 )(?!:)/, because: 'takes minutes; one seed is run' },
  { what: /^(KUBECONFIG=\S+ )?node (--expose-gc )?bench\//, because: 'a benchmark: it takes minutes' },
  {
    what: /^node scripts\/(kube-types|kube-wire|record-fixture)\.ts|^kubectl kustomize .* > test\//,
    because: 'writes into the checkout',
  },
  {
    what: /^npm (?!start|test|run )/,
    because: 'changes the checkout, or the machine',
  },
  {
    what: /^nats (stream|server|micro) /,
    because: 'the command nats is in no Debian suite, and only what the pages send by it is stood in for',
  },
  {
    what: /^pkill /,
    because:
      'would reach what others run; test/dev-cluster/dev-command.test.ts kills a replica by its process id',
  },
  {
    what: /^kubectl -n orrery (exec|logs|port-forward|top|(get|delete) pvc|delete statefulset) /,
    because: 'the development cluster has no containers, measurements or volumes',
  },
  {
    what: /^kubectl auth can-i .* --as /,
    because:
      'the development API lets nobody act for another; test/e2e/chart-rights.test.ts holds the rights',
  },
  {
    what: /^kubectl wait -n shop .* domain\/shop$/,
    because: 'waits for a public authority; test/features/certificates/acme.test.ts has one',
  },
  {
    what: /^orrery adopt certificates/,
    because: "needs cert-manager's resources; test/features/certificates/adoption.test.ts has them",
  },
  {
    what: /^curl (-s |http:\/\/)127\.0\.0\.1:8080\/readyz$/,
    because:
      'needs a replica behind a forwarded port, or one of a release that was overtaken (test/e2e/release.test.ts)',
  },
  {
    what: /^kubectl orrery open|^orrery (login|logout|open|dev|run|health)\b/,
    because: 'goes on until somebody ends it, or changes what the next command does; test/cli has it',
  },
  {
    what: /^(orrery (explain|elect|chart|replay|dead resend)|kubectl (wait|rollout undo|delete -k|describe \w+)|orrery forget KIND)$/,
    because: 'names a command in a sentence, without what it needs',
  },
  {
    what: /^orrery .*([[…]|\b(COMMAND|FILE|MACHINE|EVENT|SERVER)\b)|^orrery send … /,
    because: 'says what a command takes; test/docs-commands.test.ts holds its words to the program',
  },
];

/** Pages that another test follows word for word. */
export const followedElsewhere: Readonly<Record<string, string>> = {
  'docs/guides/operator-in-100-lines.md': 'test/cli/build.test.ts',
};

/** What a reader fills in, and what would take the cluster away from the other pages. */
export const replaced: ReadonlyArray<readonly [shown: RegExp, here: string]> = [
  [/^(kubectl apply -k deploy)$/, '$1 --dry-run=server'],
  [/^(kubectl delete (-k|crd) .+)$/, '$1 --dry-run=server --ignore-not-found'],
  [/\bID\b/g, 'pod/shop/web-0'],
  [/\bKIND\b/g, 'pod'],
  [/\b(show|resend) N\b/g, '$1 1'],
  // Any step of a Pod: one as late as that of the page may still be to come.
  [/web-0@12\b/g, 'web-0@2'],
  [/\bURL\b/g, 'https://wiki.example.com/orrery'],
  [/release\/_\/(NAME|<name>|x)$/g, 'release/_/platform'],
  [/domain\/_\/<host>/g, 'domain/_/www.shop.example.com'],
  [/pod\/shop\/<name>/g, 'pod/shop/web-0'],
  [/<namespace>\/<name>/g, 'shop/cart'],
  [/get <kind> -A/g, 'get issuers -A'],
  [/chart <\w+>/g, 'chart pod'],
  [/<password>/g, 'secret'],
  [/http:\/\/orrery:8080/g, '$$DESK_REPLICA'],
  [/\borrery\.default\./g, 'orrery.dev.'],
  // A busy machine may need longer from one request to the next.
  [/"ttlMs":3000/g, '"ttlMs":120000'],
];

/** Before all pages: what an installation has besides what `npm start` creates. */
export const standing: readonly string[] = [
  // The replicas of the development cluster are not Pods: those of the Deployment stand in for them.
  `awk 'BEGIN { RS = "---\\n" } /kind: Deployment/' deploy/base/orrery.yaml | kubectl apply -n orrery -f -`,
  'until kubectl -n shop get pod web-0; do sleep 0.2; done',
];

const late = '{"type":"election.campaign","candidate":"a","ttlMs":3000}';

/** What the reader of a page already has: commands that run before those of the page. */
export const prepared: Readonly<Record<string, readonly string[]>> = {
  // A message that came too early for its actor.
  'docs/alerts.md': [
    `nats pub orrery.dev.send.election.shop.late '${late}'`,
    'until orrery dead | grep late; do sleep 0.2; done',
    `echo '{"apiVersion":"orrery.dev/v1alpha1","kind":"Election","metadata":{"name":"late","namespace":"shop"}}' | kubectl apply -f -`,
    'until orrery get election/shop/late | grep late; do sleep 0.2; done',
  ],
  'docs/operating.md': [
    'echo authority > ca.crt',
    'kubectl -n orrery create secret generic orrery-nats-server',
  ],
  'docs/features/elections.md': [`printf '#!/bin/sh\\n' > backup && chmod +x backup`],
  'examples/namespace-janitor/README.md': ['kubectl create namespace pr-7'],
  'examples/node-drain/README.md': [
    `echo '{"apiVersion":"v1","kind":"Node","metadata":{"name":"worker-1"}}' | kubectl apply -f -`,
  ],
};

/** Pages whose objects the reader applies before the commands. */
export const applied: readonly string[] = ['docs/features/elections.md', 'docs/features/certificates.md'];
