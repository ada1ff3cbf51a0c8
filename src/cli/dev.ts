/**
 * `orrery dev`: starts the development cluster, a separate package (packages/dev-cluster) in checkouts only.
 */
import { OrreryError } from '../base/errors.ts';
import type { Program } from './parser.ts';
import type { Terminal } from './terminal.ts';

interface DevClusterPackage {
  devCommand(program: Program, terminal: Terminal): void;
}

/** In a variable, so that neither the compiler nor the build follows it. */
const packageName: string = '@orrery/dev-cluster';

export async function devCommand(program: Program, terminal: Terminal): Promise<void> {
  const found = await loadPackage();
  if (found !== null) return found.devCommand(program, terminal);
  program
    .command('dev', { hidden: true })
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw new OrreryError(
        'USAGE',
        'the development cluster is not part of an installation: clone the repository and run `npm start` there',
      );
    });
}

/** null: the package is not here. */
async function loadPackage(): Promise<DevClusterPackage | null> {
  try {
    return (await import(packageName)) as DevClusterPackage;
  } catch (thrown) {
    if (isNotInstalled(thrown)) return null;
    throw thrown;
  }
}

function isNotInstalled(thrown: unknown): boolean {
  return (
    thrown instanceof Error &&
    'code' in thrown &&
    thrown.code === 'ERR_MODULE_NOT_FOUND' &&
    thrown.message.includes(`'${packageName}'`)
  );
}
