/** The HTTP paths of dead letters: list them, send one again, drop one. */
import { notAllowed } from '../../base/config-values.ts';
import { limits } from '../../base/limits.ts';
import type { PageRequest, StoredPort } from '../../base/views.ts';
import { jsonAnswer } from './http-answer.ts';
import type { HttpRequest, Route } from './http-route.ts';

export function deadLetterRoutes(control: Pick<StoredPort, 'dead' | 'resend' | 'drop'>): Route[] {
  return [
    {
      path: '/api/v1/dead',
      about: 'messages that nobody could take, oldest first; `since`, `after`, `limit`',
      open: false,
      answer: async ({ query }) => jsonAnswer(200, await control.dead(pageOf(query))),
    },
    {
      path: '/api/v1/dead/:letter/resend',
      method: 'POST',
      about: 'resend one to its actor, answered like sending an event; needs `update`',
      open: false,
      verb: 'update',
      answer: async (request) => {
        const answer = await control.resend(letterOf(request), `http:${request.user}`);
        return jsonAnswer(isMissing(answer) ? 404 : 200, answer);
      },
    },
    {
      path: '/api/v1/dead/:letter',
      method: 'DELETE',
      about: 'drop one; needs `update`',
      open: false,
      verb: 'update',
      answer: async (request) => {
        const answer = await control.drop(letterOf(request), `http:${request.user}`);
        return jsonAnswer(isMissing(answer) ? 404 : 200, answer);
      },
    },
  ];
}

const isMissing = (answer: object) => 'code' in answer && answer.code === 'LETTER_MISSING';

function letterOf({ params: { letter = '' } }: HttpRequest): number {
  return wholeNumber('letter', letter, { least: 1, most: Number.MAX_SAFE_INTEGER });
}

const bounds = {
  since: { least: 0, most: Number.MAX_SAFE_INTEGER },
  after: { least: 0, most: Number.MAX_SAFE_INTEGER },
  limit: { least: 1, most: limits.pageMessages },
} as const;

/** @throws OrreryError USAGE with the parameter, its value and what is allowed */
function pageOf(query: Readonly<Record<string, string>>): PageRequest {
  const given = Object.entries(query).map(([name, value]): [string, number] => {
    if (name === 'since' || name === 'after' || name === 'limit')
      return [name, wholeNumber(name, value, bounds[name])];
    throw notAllowed(name, value, `the parameters ${Object.keys(bounds).join(', ')}`);
  });
  return Object.fromEntries(given);
}

function wholeNumber(
  name: string,
  text: string,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw notAllowed(
    name,
    text,
    `a whole number from ${least}${most > limits.pageMessages ? '' : ` to ${most}`}`,
  );
}
