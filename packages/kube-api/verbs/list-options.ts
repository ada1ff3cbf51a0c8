/** The query options of lists and watches, and the rules between them. */
import { type Cause, forbiddenField, notSupported } from '../causes.ts';
import { isSet } from '../http/request.ts';
import type { Resource } from '../resources/resource.ts';
import { checkFields, type FieldSelector, matchesFields, parseFieldSelector } from '../selectors/fields.ts';
import { type LabelSelector, matchesLabels, parseLabelSelector } from '../selectors/labels.ts';
import { badRequest, invalid } from '../status.ts';
import type { StoredObject } from '../stored-object.ts';

export interface Selection {
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  readonly isEverything: boolean;
  matches(object: StoredObject): boolean;
}

export interface ListOptions {
  readonly selection: Selection;
  /** 0: no limit. */
  readonly limit: number;
  readonly continueToken: string;
  /** undefined: the latest. */
  readonly version: number | undefined;
  readonly match: '' | 'Exact' | 'NotOlderThan';
  readonly isWatch: boolean;
  readonly timeoutSeconds: number | undefined;
  readonly allowBookmarks: boolean;
  /** undefined: not given. */
  readonly sendInitialEvents: boolean | undefined;
}

/** @throws ApiError 400, 422 */
export function listOptions(query: URLSearchParams, resource: Resource): ListOptions {
  const match = query.get('resourceVersionMatch') ?? '';
  const options = {
    selection: selectionOf(query, resource),
    limit: parseNumber(query, 'limit') ?? 0,
    continueToken: query.get('continue') ?? '',
    version: parseVersion(query),
    isWatch: isSet(query, 'watch'),
    timeoutSeconds: parseNumber(query, 'timeoutSeconds'),
    allowBookmarks: isSet(query, 'allowWatchBookmarks'),
    sendInitialEvents: query.has('sendInitialEvents') ? isSet(query, 'sendInitialEvents') : undefined,
  };
  const causes = matchCauses({ ...options, match }, query.get('resourceVersion') ?? '');
  if (causes.length > 0) throw invalid({ kind: 'ListOptions', group: 'meta.k8s.io' }, '', causes);
  return { ...options, match: match as ListOptions['match'] };
}

export function selectionOf(query: URLSearchParams, resource: Resource): Selection {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '');
  const { rules } = resource;
  checkFields(fields, rules.fields, rules.unknownField);
  const isEverything = labels.length === 0 && fields.length === 0;
  return {
    labels,
    fields,
    isEverything,
    matches: isEverything
      ? () => true
      : (object) =>
          matchesLabels(labels, object.metadata.labels) && matchesFields(fields, rules.fields, object),
  };
}

/** undefined: none given. @throws ApiError 400 */
export function parseVersion(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(
    `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
  );
}

function parseNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
}

type Checked = Pick<ListOptions, 'isWatch' | 'continueToken' | 'sendInitialEvents'> & {
  readonly match: string;
};

function matchCauses(options: Checked, version: string): Cause[] {
  const field = 'resourceVersionMatch';
  const { match, isWatch, sendInitialEvents } = options;
  if (isWatch && sendInitialEvents === undefined && match !== '')
    return [
      forbiddenField(
        field,
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    ];
  if (isWatch && sendInitialEvents !== undefined)
    return match === 'NotOlderThan'
      ? []
      : [forbiddenField(field, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')];
  if (sendInitialEvents !== undefined)
    return [forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list')];
  return match === '' ? [] : listMatchCauses(match, version, options.continueToken);
}

function listMatchCauses(match: string, version: string, continueToken: string): Cause[] {
  const field = 'resourceVersionMatch';
  const causes: Cause[] = [];
  if (version === '')
    causes.push(
      forbiddenField(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
    );
  if (continueToken !== '')
    causes.push(forbiddenField(field, 'resourceVersionMatch is forbidden when continue is provided'));
  if (match !== 'Exact' && match !== 'NotOlderThan')
    causes.push(notSupported(field, match, ['Exact', 'NotOlderThan', '']));
  if (match === 'Exact' && version === '0')
    causes.push(forbiddenField(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  return causes;
}
