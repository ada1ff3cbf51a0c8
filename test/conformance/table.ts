/** For the tests of Tables: how to ask for one, and what is in it. */
import type { Client, Json, JsonObject, Reply } from './client.ts';

/** What kubectl asks for. */
export const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';

export interface Row extends JsonObject {
  cells: Json[];
}

/** Name, type, format and priority of each column. */
export function columns(reply: Reply | JsonObject): string[] {
  const body = 'code' in reply && 'text' in reply ? (reply as Reply).body : (reply as JsonObject);
  const found = (body.columnDefinitions ?? []) as JsonObject[];
  return found.map(({ name, type, format, priority }) => [name, type, format, priority].join(' ').trim());
}

export function rows(reply: Reply): Row[] {
  return (reply.body.rows ?? []) as Row[];
}

/** The cells of one object. */
export async function cellsOf(api: Client, path: string): Promise<Json[]> {
  const reply = await api.get(path, { accept });
  return rows(reply)[0]?.cells ?? [];
}
