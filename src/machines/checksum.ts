/** 32-bit FNV-1a of a text, as a short word: only good for noticing a change. */
export function checksum(text: string): string {
  let hash = 0x811c9dc5;
  for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193);
  return (hash >>> 0).toString(36);
}
