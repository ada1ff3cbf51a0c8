/** Tables for the documentation, each derived from the data that the program itself uses. */

import { errorCodes } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { streamDefinitions } from '../../src/bus/streams.ts';
import { type HttpParts, routes } from '../../src/inspector/http/routes.ts';
import { environmentName, runFlags } from '../../src/replica/config.ts';
import { featuresOf } from '../../src/replica/features.ts';
import type { Flag } from '../../src/replica/flag.ts';
import { metricTables } from '../../src/replica/metrics.ts';

/** A Markdown table; ends with a line feed. */
export function markdownTable(heading: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
  return [line(heading), line(heading.map(() => '---')), ...rows.map(line)].join('');
}

const code = (text: string) => `\`${text}\``;

const kinds = {
  transient: 'It may pass: the step is tried again, with growing pauses.',
  terminal: 'Trying again would not help: the caller is told.',
  fenced: 'This replica is no longer the owner: it drops the shard and does nothing outside.',
  invariant: 'A bug: the actor is parked, the rest goes on. Please report it.',
} as const;

export function errorTable(): string {
  return Object.entries(kinds)
    .map(([kind, next]) => {
      const rows = Object.entries(errorCodes).filter(([, [itsKind]]) => itsKind === kind);
      const table = markdownTable(
        ['code', 'meaning'],
        rows.map(([name, [, meaning]]) => [code(name), meaning]),
      );
      return `## ${kind}\n\n${next}\n\n${table}`;
    })
    .join('\n');
}

/**
 * Names, values, and the comments above them in the source; of the program's limits, if no others are given.
 */
export function limitTable(source: string, values: Readonly<Record<string, number>> = limits): string {
  const reasons = new Map(
    [...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(\w+):/g)].map(([, comment = '', name = '']) => [
      name,
      comment.replaceAll(/\s*\n\s*\*\s?/g, ' ').trim(),
    ]),
  );
  const rows = Object.entries(values).map(([name, value]) => [
    code(name),
    value.toLocaleString('en'),
    reasons.get(name) ?? '',
  ]);
  return markdownTable(['limit', 'value', 'what it bounds, and why so'], rows);
}

export function flagTable(): string {
  const rows = Object.entries(runFlags).map(([name, flag]: [string, Flag<unknown>]) => [
    `${code(`--${name}`)}<br>${code(environmentName(name))}${flag.otherEnv ? `<br>${code(flag.otherEnv)}` : ''}`,
    flag.description,
    flag.default === undefined ? (flag.defaultText ?? 'none') : code(flag.default),
    flag.allowed,
  ]);
  return markdownTable(['flag', 'meaning', 'default', 'allowed'], rows);
}

/** The program's texts link as if from a page directly in docs/; the tables are one folder below. */
const fromReference = (text: string) => text.replaceAll(/\]\((?=[a-z-]+\.md)/g, '](../');

export function pathTable(): string {
  // Only the table is read; no path is called, so the parts are not needed.
  const featurePaths = featuresOf()
    .flatMap(({ http }) => http ?? [])
    .map((declared) => ({ ...declared, answer: () => Promise.reject(new Error('nothing is asked')) }));
  const parts = { featurePaths, charts: [] } as unknown as HttpParts;
  const rows = routes(parts).map(({ path, about, open, method }) => [
    code(method === undefined ? path : `${method} ${path}`),
    fromReference(about),
    open === true ? 'no' : 'yes',
  ]);
  return markdownTable(['path', 'answer', 'token needed'], rows);
}

export function metricRows(): string {
  const rows = Object.entries(metricTables(featuresOf())).map(([name, { type, labels, help }]) => [
    code(labels.length === 0 ? name : `${name}{${labels.join(',')}}`),
    type,
    help,
  ]);
  return markdownTable(['metric', 'type', 'meaning'], rows);
}

export function streamTable(): string {
  const rows = Object.values(streamDefinitions('default')).map(
    ({ name, subjects, description, maxAgeMs, messagesMax, whenFull }) => [
      code(name),
      subjects.map(code).join('<br>'),
      description,
      maxAgeMs === 0 ? 'for ever' : `${maxAgeMs / 3_600_000} h`,
      messagesMax === 0
        ? 'no bound of its own'
        : `${messagesMax.toLocaleString('en')}; then ${whenFull === 'refuse' ? 'senders are refused' : 'the oldest go'}`,
    ],
  );
  return markdownTable(['stream', 'subjects', 'holds', 'kept', 'messages'], rows);
}
