/**
 * Reads apt's lists of sources, in both of their forms: the machine knows a mirror and the keyring that
 * verifies it. Pure: texts in, one archive out.
 */

/**
 * @typedef {object} Archive
 * @property {string} uri
 * @property {string} signedBy path of a keyring, or a key block as it stands in the file; empty: apt's own
 * keyrings
 *
 * @typedef {{ uris: string[], suites: string[], components: string[], signedBy: string }} Entry
 */

/** Names under which Debian's main archive is listed, besides the release's own code name. */
const rolling = ['stable', 'oldstable', 'testing', 'unstable', 'sid', 'forky'];

/**
 * The Debian archive that the machine itself installs from.
 *
 * @param {ReadonlyMap<string, string>} files sources.list and the files of sources.list.d, by name
 * @param {string} osRelease text of /etc/os-release
 * @returns {Archive | undefined}
 */
export function archiveOf(files, osRelease) {
  if (!/^ID="?debian"?$/m.test(osRelease)) return undefined;
  const codename = /^VERSION_CODENAME="?([^"\n]*)"?$/m.exec(osRelease)?.[1] ?? '';
  for (const [name, text] of files) {
    for (const entry of name.endsWith('.sources') ? deb822(text) : oneLine(text)) {
      const uri = entry.uris.find((candidate) => !candidate.startsWith('cdrom:'));
      const isDebian = entry.suites.some((suite) => suite === codename || rolling.includes(suite));
      if (uri && isDebian && entry.components.includes('main')) return { uri, signedBy: entry.signedBy };
    }
  }
  return undefined;
}

/**
 * @param {Archive} archive
 * @param {string} suite
 */
export function renderSource({ uri, signedBy }, suite) {
  const key = signedBy === '' ? '' : `Signed-By: ${signedBy}\n`;
  return `Types: deb\nURIs: ${uri}\nSuites: ${suite}\nComponents: main\n${key}`;
}

/**
 * `deb [signed-by=/a/keyring.gpg] http://a.mirror/debian bookworm main`
 *
 * @param {string} text
 * @returns {Entry[]}
 */
function oneLine(text) {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#]*)/.exec(line);
    if (!match) return [];
    const [, options = '', uri = '', suite = '', components = ''] = match;
    const signedBy = /(?:^|\s)signed-by=(\S+)/.exec(options)?.[1] ?? '';
    return [{ uris: [uri], suites: [suite], components: components.trim().split(/\s+/), signedBy }];
  });
}

/**
 * Stanzas of `Field: value`; a line that begins with white space continues the field before it.
 *
 * @param {string} text
 * @returns {Entry[]}
 */
function deb822(text) {
  const stanzas = text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .split(/\n\s*\n/);
  return stanzas.flatMap((stanza) => {
    const fields = new Map(
      [...stanza.matchAll(/^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)/gm)].map(([, name = '', value = '']) => [
        name.toLowerCase(),
        value.trimEnd(),
      ]),
    );
    const words = (/** @type {string} */ name) => (fields.get(name) ?? '').split(/\s+/).filter(Boolean);
    if (!words('types').includes('deb') || fields.get('enabled') === 'no') return [];
    const entry = { uris: words('uris'), suites: words('suites'), components: words('components') };
    return [{ ...entry, signedBy: fields.get('signed-by') ?? '' }];
  });
}
