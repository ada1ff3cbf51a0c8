/** ControllerRevisions: what a template once was; only the number and the metadata may change. */
import { type Cause, immutable, invalidValue, required } from '../causes.ts';
import { equal, numberAt } from '../json.ts';
import { type Kind, plainKind } from './kind.ts';

export const controllerRevisionKind: Kind = {
  ...plainKind,
  check: (object) => {
    const revision = numberAt(object, 'revision') ?? 0;
    const causes: Cause[] = [];
    if (object.data === undefined || object.data === null) causes.push(required('data', 'data is mandatory'));
    if (revision < 0) causes.push(invalidValue('revision', revision, 'must be greater than or equal to 0'));
    return causes;
  },
  checkUpdate: (object, old) => (equal(object.data, old.data) ? [] : [immutable('data', object.data)]),
};
