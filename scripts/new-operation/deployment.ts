import type { NewOperation } from './request.ts';

/** Changes of the files that list the function of each group, by path. */
type Changes = Readonly<Record<string, (text: string) => string>>;

/** Where the function of a new group is deployed, and the pages that list it. */
export function deploymentOf({ group, path, job }: NewOperation): Changes {
  const service = `svc-${group}`;
  return {
    'infra/groups.tf': (text) => inMap(text, group, job !== null),
    'docs/infrastructure.md': before(/; and `svc-worker`/, `, \`${service}\``),
    'docs/local-cloud.md': before(/`worker`, `reconcile`/, `\`${group}\`, `),
    'docs/firebase.md': before(/^\| all others \|/m, `| \`/${path.split('/')[1]}/**\` | \`${service}\` |\n`),
  };
}

/** A group that gets its first job starts runs. */
export function startsRuns({ group }: NewOperation): Changes {
  return {
    'infra/groups.tf': (text) =>
      text.replace(new RegExp(`^ {4}${group} += .*$`, 'm'), (line) =>
        line.replace('queues = false', 'queues = true').replace('buckets = []', 'buckets = ["artifacts"]'),
      ),
  };
}

function before(place: RegExp, added: string): (text: string) => string {
  return (text) => {
    const found = place.exec(text);
    if (found === null) throw new Error(`the list of functions has no ${place.source}`);
    return `${text.slice(0, found.index)}${added}${text.slice(found.index)}`;
  };
}

/** The map of functions with one more entry; the equals signs of a Terraform map stand in one column. */
function inMap(text: string, group: string, queues: boolean): string {
  const map = /(?<= {2}groups = \{\n)(?: {4}\w+ += .*\n)+/.exec(text);
  if (map === null) throw new Error('infra/groups.tf has no map of groups');
  const parts = `{ database = "user", queues = ${queues}, buckets = ${queues ? '["artifacts"]' : '[]'}, memory = "1Gi", timeout = 300 }`;
  const entries = [...map[0].trimEnd().split('\n'), `    ${group} = ${parts}`].map(
    (line) => /^ +(\w+) += (.*)$/.exec(line)?.slice(1) ?? [],
  );
  const width = Math.max(...entries.map(([name = '']) => name.length));
  const lines = entries.map(([name = '', value = '']) => `    ${name.padEnd(width)} = ${value}\n`);
  return `${text.slice(0, map.index)}${lines.join('')}${text.slice(map.index + map[0].length)}`;
}
