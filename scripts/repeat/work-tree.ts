import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

export interface WorkTree {
  readonly commit: string;
  /** A hash of what differs from the commit; `undefined` where nothing does. */
  readonly changes: string | undefined;
}

/** The state of the source that the tests run on at this moment. */
export function readWorkTree(folder: string): WorkTree {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 28 });
  const commit = git('rev-parse', 'HEAD').trim();
  if (git('status', '--porcelain') === '') return { commit, changes: undefined };
  const added = git('ls-files', '-z', '--others', '--exclude-standard').split('\0').filter(Boolean);
  const texts = [
    git('diff', '--binary', 'HEAD'),
    ...added.map((path) => path + git('hash-object', '--', path)),
  ];
  return { commit, changes: createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 8) };
}

export function nameOf({ commit, changes }: WorkTree): string {
  const short = commit.slice(0, 12);
  return changes === undefined ? short : `${short}-dirty-${changes}`;
}
