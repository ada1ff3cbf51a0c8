/** What a tidy rule finds. */
export interface Violation {
  readonly path: string;
  readonly line: number;
  /** What is wrong and what to do instead. */
  readonly message: string;
}

/** One line for each violation, as editors and people read it. */
export function listed(violations: readonly Violation[]): string[] {
  return violations.map(({ path, line, message }) => `${path}:${line} ${message}`);
}
