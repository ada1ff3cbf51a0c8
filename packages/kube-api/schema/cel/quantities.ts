/** Kubernetes' quantities (`1.5Gi`, `100m`) in expressions. Sums are exact, in billionths. */
import { isQuantity } from '../formats.ts';
import type { CelFunction } from './functions.ts';

class Quantity {
  nanos = 0n;
}

export const quantityTypes = [{ name: 'kubernetes.Quantity', ctor: Quantity }];

export const quantityFunctions: readonly CelFunction[] = [
  ['quantity(string): kubernetes.Quantity', (text: string) => quantityOf(text)],
  ['isQuantity(string): bool', (text: string) => isQuantity(text)],
  ['kubernetes.Quantity.isInteger(): bool', ({ nanos }: Quantity) => nanos % billion === 0n],
  ['kubernetes.Quantity.asInteger(): int', ({ nanos }: Quantity) => integerOf(nanos)],
  ['kubernetes.Quantity.asApproximateFloat(): double', ({ nanos }: Quantity) => Number(nanos) / 1e9],
  [
    'kubernetes.Quantity.add(kubernetes.Quantity): kubernetes.Quantity',
    (a: Quantity, b: Quantity) => of(a.nanos + b.nanos),
  ],
  [
    'kubernetes.Quantity.add(int): kubernetes.Quantity',
    (a: Quantity, b: bigint) => of(a.nanos + b * billion),
  ],
  [
    'kubernetes.Quantity.sub(kubernetes.Quantity): kubernetes.Quantity',
    (a: Quantity, b: Quantity) => of(a.nanos - b.nanos),
  ],
  [
    'kubernetes.Quantity.sub(int): kubernetes.Quantity',
    (a: Quantity, b: bigint) => of(a.nanos - b * billion),
  ],
  [
    'kubernetes.Quantity.isLessThan(kubernetes.Quantity): bool',
    (a: Quantity, b: Quantity) => a.nanos < b.nanos,
  ],
  [
    'kubernetes.Quantity.isGreaterThan(kubernetes.Quantity): bool',
    (a: Quantity, b: Quantity) => a.nanos > b.nanos,
  ],
  [
    'kubernetes.Quantity.compareTo(kubernetes.Quantity): int',
    (a: Quantity, b: Quantity) => (a.nanos < b.nanos ? -1n : a.nanos > b.nanos ? 1n : 0n),
  ],
];

const billion = 1_000_000_000n;

/** Exponents of ten of the decimal suffixes. */
const decimal: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};

const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

function of(nanos: bigint): Quantity {
  return Object.assign(new Quantity(), { nanos });
}

function quantityOf(text: string): Quantity {
  const match = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+)|([a-zA-Z]*))$/.exec(text);
  if (match === null || !isQuantity(text))
    throw new Error(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  const [, sign = '', whole = '', fraction = '', exponent, suffix = ''] = match;
  const power = binary.indexOf(suffix);
  const factor = power > 0 ? 1024n ** BigInt(power) : 1n;
  const ten = (exponent === undefined ? (decimal[suffix] ?? 0) : Number(exponent)) + 9 - fraction.length;
  const digits = BigInt(`${whole}${fraction}` || '0') * factor;
  const size = ten >= 0 ? digits * 10n ** BigInt(ten) : roundedUp(digits, 10n ** BigInt(-ten));
  return of(sign === '-' ? -size : size);
}

/** Fractions of a billionth are rounded up, as in Kubernetes. */
function roundedUp(digits: bigint, divisor: bigint): bigint {
  return (digits + divisor - 1n) / divisor;
}

function integerOf(nanos: bigint): bigint {
  if (nanos % billion !== 0n) throw new Error('cannot convert value to integer');
  return nanos / billion;
}
