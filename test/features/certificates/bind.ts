/**
 * A real name server (BIND) with one zone that accepts updates with a key: a child process on a free port.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../../../packages/dev-cluster/network/ports.ts';
import { named } from '../../../scripts/setup/bind.mjs';
import { systemRandom } from '../../../src/base/random.ts';
import { exchange } from '../../../src/features/certificates/dns/exchange.ts';
import { classes, recordTypes, writeMessage } from '../../../src/features/certificates/dns/message.ts';
import { until } from '../../until.ts';

export interface Bind {
  /** `127.0.0.1:port` */
  readonly server: string;
  /** In base64, by the key's name. */
  readonly keys: Readonly<Record<string, string>>;
  /** The texts of a name. */
  texts(name: string): Promise<string[]>;
  stop(): Promise<void>;
}

const root = resolve(import.meta.dirname, '../../..');
export const hasBind = named(root, process.env) !== undefined;

/**
 * `example.test`, in which `www` leads to another zone, `dyn.test`, and `cut` is another server's; and a name
 * that leads in a circle.
 */
const zones = {
  'example.test': [
    '_acme-challenge.www CNAME www.dyn.test.',
    '_acme-challenge.far CNAME hop.example.test.',
    'hop CNAME far.dyn.test.',
    'cut NS ns.elsewhere.test.',
    'circle CNAME round.example.test.',
    'round CNAME circle.example.test.',
    ...Array.from({ length: 40 }, (_, n) => `long TXT "${'x'.repeat(200)}${n}"`),
  ],
  'dyn.test': [],
} as const;

const soa = '$TTL 60\n@ SOA ns hostmaster 1 3600 600 86400 60\n@ NS ns\nns A 127.0.0.1\n';

export async function startBind(): Promise<Bind> {
  const found = named(root, process.env);
  if (found === undefined) throw new Error('there is no named: node scripts/setup.mjs --tests');
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bind-'));
  const port = await freePort('127.0.0.1', 0);
  const keys = Object.fromEntries(
    ['hmac-sha256', 'hmac-sha512'].map((algorithm) => [
      `key-${algorithm}`,
      Buffer.from(systemRandom.id() + systemRandom.id()).toString('base64'),
    ]),
  );
  for (const [zone, lines] of Object.entries(zones))
    writeFileSync(join(dir, zone), `${soa}${lines.join('\n')}\n`);
  writeFileSync(join(dir, 'named.conf'), configuration(dir, port, keys));
  // It ends when our end of the pipe closes, even if this process was killed.
  const child = spawn(
    'sh',
    ['-c', watchdog, 'sh', found.program, '-g', '-n', '1', '-c', join(dir, 'named.conf')],
    {
      env: { ...process.env, LD_LIBRARY_PATH: found.libraries },
      stdio: ['pipe', 'ignore', 'pipe'],
    },
  );
  let said = '';
  child.stderr.on('data', (piece) => {
    said = (said + piece).slice(-4_000);
  });
  const server = `127.0.0.1:${port}`;
  const texts = (name: string) => textsAt(server, name);
  await until(
    () =>
      texts('ns.example.test').then(
        () => true,
        () => false,
      ),
    { what: 'named to answer' },
  ).catch((error) => {
    throw new Error(`${error.message}: ${said}`);
  });
  return {
    server,
    keys,
    texts,
    async stop() {
      const ended = new Promise((done) => child.once('exit', done));
      child.stdin.end();
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const watchdog = `
exec 3<&0
"$@" 3<&- </dev/null &
program=$!
( cat <&3 >/dev/null; kill -KILL "$program" ) >/dev/null 2>&1 &
wait "$program"
`;

function configuration(dir: string, port: number, keys: Readonly<Record<string, string>>): string {
  const grants = Object.keys(keys).map((name) => `grant ${name} zonesub TXT;`);
  return `
options {
  directory "${dir}";
  pid-file none;
  session-keyfile none;
  managed-keys-directory "${dir}";
  listen-on port ${port} { 127.0.0.1; };
  listen-on-v6 { none; };
  recursion no;
  minimal-responses no;
  dnssec-validation no;
};
controls { };
${Object.entries(keys)
  .map(([name, secret]) => `key "${name}" { algorithm ${name.slice('key-'.length)}; secret "${secret}"; };`)
  .join('\n')}
${Object.keys(zones)
  .map(
    (zone) =>
      `zone "${zone}" { type primary; file "${join(dir, zone)}"; update-policy { ${grants.join(' ')} }; };`,
  )
  .join('\n')}
`;
}

async function textsAt(server: string, name: string): Promise<string[]> {
  const question = {
    id: Math.floor(systemRandom.next() * 65_536),
    opcode: 0,
    code: 0,
    questions: [{ name, type: recordTypes.txt, class: classes.internet }],
    answers: [],
    authorities: [],
    additionals: [],
  };
  const { message } = await exchange(server, writeMessage(question), AbortSignal.timeout(5_000));
  return message.answers
    .filter(({ type }) => type === recordTypes.txt)
    .map(({ data }) => Buffer.from(data).toString('latin1', 1, 1 + (data[0] ?? 0)))
    .sort();
}
