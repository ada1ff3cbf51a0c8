/**
 * What the fields of the built-in types are for, in the words of Kubernetes: read from the installed
 * Kubernetes client on demand (`kubectl explain`), so that none of those texts is kept here.
 *
 * Promises: nothing is read before the first question. Without the client there are no descriptions, and
 * nothing else is missing.
 */
import { existsSync, readFileSync } from 'node:fs';

export interface FieldText {
  readonly description: string;
  readonly isRequired: boolean;
}

export interface TypeText {
  readonly description: string;
  readonly fields: ReadonlyMap<string, FieldText>;
}

const models = modelFolder();
const known = new Map<string, TypeText>();
const nothing: TypeText = { description: '', fields: new Map() };

/** @param type as the table of built-in types names it, e.g. `PodSpec` */
export function typeText(type: string): TypeText {
  const found = known.get(type);
  if (found !== undefined) return found;
  const read = readType(type);
  known.set(type, read);
  return read;
}

function modelFolder(): URL | undefined {
  try {
    return new URL('./gen/models/', import.meta.resolve('@kubernetes/client-node'));
  } catch {
    return undefined;
  }
}

function readType(type: string): TypeText {
  if (models === undefined) return nothing;
  // The table omits the version where the client has it in the name.
  const files = [`V1${type}.d.ts`, `${type}.d.ts`].map((name) => new URL(name, models));
  const file = files.find((candidate) => existsSync(candidate));
  if (file === undefined) return nothing;
  const text = readFileSync(file, 'utf8');
  const head = /\/\*\*\n\* ([^\n]*)\n\*\/\nexport declare class/.exec(text)?.[1] ?? '';
  const fields = [...text.matchAll(/\/\*\*\n {4}\* ([^\n]*)\n {4}\*\/\n {4}'([^']+)'(\??):/g)];
  return {
    description: plain(head),
    fields: new Map(
      fields.map(([, description = '', name = '', mark]) => [
        name,
        { description: plain(description), isRequired: mark === '' },
      ]),
    ),
  };
}

function plain(text: string): string {
  return text
    .replace(/\\(['"])/g, '$1')
    .replace(/\\n/g, '\n')
    .trim();
}
