/** What the operating system says of a failure, in words that need no manual. Pure. */

const words: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(?:connect|read|write) ECONNREFUSED(?: [\d.:[\]a-f]+)?/g, 'connection refused'],
  [/\b(?:read|write) (?:ECONNRESET|EPIPE)\b/g, 'the connection was cut'],
  [/\bwrite EPROTO .*wrong version number.*/gs, 'it speaks no TLS: is it http:// instead of https://?'],
  [/\bconnect ETIMEDOUT(?: [\d.:[\]a-f]+)?/g, 'no answer'],
  [/\bconnect E(?:HOST|NET)UNREACH(?: [\d.:[\]a-f]+)?.*/g, 'no network leads there'],
  [/\bgetaddrinfo ENOTFOUND (\S+)/g, 'the name $1 does not exist'],
  [/\bgetaddrinfo EAI_AGAIN (\S+)/g, 'the name $1 cannot be looked up: no name server answers'],
  [/\blisten EADDRINUSE: address already in use (\S+):(\d+)/g, 'port $2 of $1 is taken'],
  [/\blisten EACCES: permission denied (\S+):(\d+)/g, 'you may not listen on port $2 of $1'],
  [/\bENOENT: no such file or directory(?:, \w+ '[^']*')?/g, 'there is no such file'],
  [/\bEACCES: permission denied(?:, \w+ '[^']*')?/g, 'permission denied'],
  [/\bEISDIR: illegal operation on a directory(?:, \w+)?/g, 'it is a folder'],
];

export function inPlainWords(message: string): string {
  return words.reduce((text, [pattern, instead]) => text.replaceAll(pattern, instead), message);
}
