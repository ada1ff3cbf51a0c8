/** The process that a node agent becomes. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { agentProcess } from '../../src/cli/agent/agent-process.ts';
import { agentVariable } from '../../src/cli/agent/agent-variable.ts';

const config = {
  cluster: 'test',
  nats: {
    servers: ['nats://user:hunter2@nats:4222'],
    credsFile: null,
    caFile: null,
    certFile: null,
    keyFile: null,
  },
  node: 'node-1',
  http: { host: '127.0.0.1', port: 0 },
  timeoutMs: 60_000,
};

test('its configuration is in its environment and not on its command line (I9)', () => {
  const { argv = [], env = {} } = agentProcess(config) ?? {};
  expect(argv.join(' ')).not.toContain('hunter2');
  expect(JSON.parse(env[agentVariable] ?? '')).toEqual(config);
});

test('its files are JavaScript that names JavaScript, made once', () => {
  const file = agentProcess(config)?.argv.at(-1) ?? '';
  expect(existsSync(file)).toBe(true);
  const text = readFileSync(file, 'utf8');
  expect(text).toContain("from './agent-run.js'");
  expect(text).not.toMatch(/from '\.[^']*\.ts'/);
  expect(agentProcess(config)?.argv.at(-1)).toBe(file);
});
