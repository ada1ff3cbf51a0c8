/**
 * The syntax of names in Kubernetes and HTTP: pure predicates.
 *
 * Sources: k8s.io/apimachinery/pkg/util/validation, RFC 9110 section 5.6.2.
 */

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const qualifiedPart = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const headerToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const fieldSegment = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** RFC 1123 label: the name of a Service's port. */
export function isDnsLabel(text: string): boolean {
  return text.length <= 63 && dnsLabel.test(text);
}

export function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => dnsLabel.test(label));
}

/** `[prefix/]name`: label keys and condition types. */
export function isQualifiedName(text: string): boolean {
  const [first = '', second, ...more] = text.split('/');
  if (more.length > 0) return false;
  if (second !== undefined && !isDnsSubdomain(first)) return false;
  const name = second ?? first;
  return name.length <= 63 && qualifiedPart.test(name);
}

export function isLabelValue(text: string): boolean {
  return text === '' || (text.length <= 63 && qualifiedPart.test(text));
}

/** The name of an HTTP header field. */
export function isHeaderName(text: string): boolean {
  return text.length <= 128 && headerToken.test(text);
}

/** `spec.replicas`: names of fields joined by dots. */
export function isFieldPath(text: string): boolean {
  return text.length <= 256 && text.split('.').every((segment) => fieldSegment.test(segment));
}

/** `v1` or `group.example.com/v1alpha1`. */
export function isApiVersion(text: string): boolean {
  const [first = '', second, ...more] = text.split('/');
  if (second === undefined) return isDnsLabel(first);
  return more.length === 0 && isDnsSubdomain(first) && isDnsLabel(second);
}
