/** Query options of writes: dry run, field manager, strictness. */
import { type Cause, notSupported, required, tooLong } from '../causes.ts';
import type { ApiRequest } from '../http/request.ts';
import { invalid } from '../status.ts';
import type { Writer } from './field-ownership.ts';

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions';

export interface WriteOptions {
  readonly isDryRun: boolean;
  readonly fieldManager: string;
  /** What happens to unknown fields: reported, refused, or neither. */
  readonly fieldValidation: 'Warn' | 'Strict' | 'Ignore';
}

const strictness = ['', 'Ignore', 'Strict', 'Warn'];

/** Characters of a field manager's name; Kubernetes' bound. */
const managerCharsMax = 128;

/** @throws ApiError 422 */
export function writeOptions(query: URLSearchParams, kind: OptionsKind, isApply = false): WriteOptions {
  const fieldManager = query.get('fieldManager') ?? '';
  const fieldValidation = query.get('fieldValidation') ?? '';
  const causes: Cause[] = dryRunCauses(query);
  if (fieldManager.length > managerCharsMax) causes.push(tooLong('fieldManager', managerCharsMax));
  if (isApply && fieldManager === '') causes.push(required('fieldManager', 'is required for apply patch'));
  if (kind === 'PatchOptions' && !isApply && query.get('force') !== null)
    causes.push({
      reason: 'FieldValueForbidden',
      field: 'force',
      message: 'Forbidden: may not be specified for non-apply patch',
    });
  if (!strictness.includes(fieldValidation))
    causes.push(notSupported('fieldValidation', fieldValidation, strictness));
  if (causes.length > 0) throw invalid({ kind, group: 'meta.k8s.io' }, '', causes);
  const isSaid = fieldValidation === 'Strict' || fieldValidation === 'Ignore';
  return { isDryRun: isDryRun(query), fieldManager, fieldValidation: isSaid ? fieldValidation : 'Warn' };
}

/** Who owns what a write changes: the manager named in the query, or else the client's program. */
export function writerOf(
  request: Pick<ApiRequest, 'userAgent'>,
  options: WriteOptions,
  subresource = '',
): Writer {
  const program = (request.userAgent.split('/')[0] ?? '').replace(/[^\x20-\x7e]/g, '');
  return { name: options.fieldManager || program.slice(0, managerCharsMax), subresource };
}

export function isDryRun(query: URLSearchParams): boolean {
  return query.getAll('dryRun').includes('All');
}

export function dryRunCauses(query: URLSearchParams): Cause[] {
  const values = query.getAll('dryRun');
  if (values.every((value) => value === 'All')) return [];
  return [notSupported('dryRun', values, ['All'])];
}
