/**
 * Names as Kubernetes allows them. Each function returns what is wrong, in the real server's words; empty:
 * nothing is.
 *
 * Source: RFC 1123 and RFC 6335 with Kubernetes' limits; "Object Names and IDs", "Labels and Selectors".
 */

export type NameRule = (name: string) => string[];

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const namePart = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const labelForm = new RegExp(`^${label}$`);
const subdomainForm = new RegExp(`^${subdomain}$`);
const namePartForm = new RegExp(`^${namePart}$`);
const valueForm = new RegExp(`^(${namePart})?$`);
const portNameForm = /^[a-z0-9]([a-z0-9-]*[a-z0-9])*$/;
const dataKeyForm = /^[-._a-zA-Z0-9]+$/;

export function dnsLabel(name: string): string[] {
  const text = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`;
  return [...lengthProblem(name, 63), ...(labelForm.test(name) ? [] : [text])];
}

export function dnsSubdomain(name: string): string[] {
  const text = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`;
  return [...lengthProblem(name, 253), ...(subdomainForm.test(name) ? [] : [text])];
}

/** A key of a label or annotation, a condition type, a finalizer: `example.com/name` or `name`. */
export function qualifiedName(name: string): string[] {
  const parts = name.split('/');
  const local = parts.at(-1) ?? '';
  const rule = `must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${namePart}')`;
  if (parts.length > 2)
    return [
      `a valid label key ${rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const problems: string[] = [];
  if (parts.length === 2) problems.push(...prefixProblems(parts[0] ?? ''));
  if (local === '') problems.push('name part must be non-empty');
  problems.push(...lengthProblem(local, 63).map((text) => `name part ${text}`));
  if (!namePartForm.test(local)) problems.push(`name part ${rule}`);
  return problems;
}

function prefixProblems(prefix: string): string[] {
  if (prefix === '') return ['prefix part must be non-empty'];
  return dnsSubdomain(prefix).map((text) => `prefix part ${text}`);
}

export function labelValue(value: string): string[] {
  const text = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${namePart})?')`;
  return [...lengthProblem(value, 63), ...(valueForm.test(value) ? [] : [text])];
}

/** The name of a container's port (IANA service name). */
export function portName(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 15) problems.push('must be no more than 15 characters');
  if (!portNameForm.test(name))
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) problems.push('must contain at least one letter (a-z)');
  if (name.includes('--')) problems.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
}

/** A key of a ConfigMap's or Secret's data. */
export function dataKey(key: string): string[] {
  const problems = lengthProblem(key, 253);
  if (!dataKeyForm.test(key))
    problems.push(
      "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    );
  if (key === '.' || key === '..') problems.push(`must not be '${key}'`);
  return problems;
}

export function portNumber(port: number): string[] {
  return port >= 1 && port <= 65_535 ? [] : ['must be between 1 and 65535, inclusive'];
}

/** What will follow `generateName` is unknown, so it may end with a hyphen. */
export function asPrefix(rule: NameRule): NameRule {
  return (name) => rule(name.endsWith('-') && name.length > 1 ? `${name.slice(0, -1)}a` : name);
}

function lengthProblem(text: string, bytesMax: number): string[] {
  return Buffer.byteLength(text) > bytesMax ? [`must be no more than ${bytesMax} bytes`] : [];
}
