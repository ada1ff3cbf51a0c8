/** Matches subjects against patterns by NATS' rules: `*` is one token, a final `>` is one or more. */

export type SubjectMatcher = (subject: string) => boolean;

export function matcherOfAny(patterns: readonly string[]): SubjectMatcher {
  const matchers = patterns.map(matcher);
  const [only] = matchers;
  if (matchers.length === 1 && only) return only;
  return (subject) => matchers.some((matches) => matches(subject));
}

export function matcher(pattern: string): SubjectMatcher {
  const wild = pattern.search(/(?:^|\.)[*>](?:\.|$)/);
  if (wild < 0) return (subject) => subject === pattern;
  // Most subjects differ in their literal beginning; only the rest is split into tokens.
  const head = wild === 0 ? '' : pattern.slice(0, wild + 1);
  const tail = pattern.slice(head.length).split('.');
  return (subject) => subject.startsWith(head) && tailMatches(tail, subject, head.length);
}

function tailMatches(tail: readonly string[], subject: string, from: number): boolean {
  let start = from;
  for (let at = 0; at < tail.length; at++) {
    const wanted = tail[at];
    if (start > subject.length) return false;
    if (wanted === '>') return start < subject.length;
    const dot = subject.indexOf('.', start);
    const end = dot < 0 ? subject.length : dot;
    if (end === start || (wanted !== '*' && subject.slice(start, end) !== wanted)) return false;
    start = end + 1;
  }
  return start > subject.length;
}
