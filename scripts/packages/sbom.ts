import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reference } from '../../functions/groups/server/docs/reference.ts';
import { projectPackage, root } from '../build/project.ts';

/**
 * The bill of materials of a package in the format CycloneDX: what its archive holds of others. npm makes one of installed packages,
 * but a bundle has those inside, and of them only the ones that it uses. It has no date and no random number, so that two runs
 * make the same bytes.
 */

interface Locked {
  readonly version: string;
  readonly integrity: string;
  readonly license?: string;
}

export function billOf(name: string, kind: 'npm' | 'python', bundled: readonly string[]): string {
  const { version, license } = projectPackage();
  const own = {
    type: 'library',
    'bom-ref': purlOf(name, version, kind),
    name,
    version,
    purl: purlOf(name, version, kind),
  };
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...own, licenses: [{ license: { id: license } }] } },
    components: components(bundled),
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}

function components(folders: readonly string[]): object[] {
  if (folders.length === 0) return [];
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  const found = folders.map((folder) => {
    const locked = packages[folder];
    if (locked === undefined) throw new Error(`package-lock.json has no ${folder}`);
    return component(folder.replace(/^.*node_modules\//, ''), locked);
  });
  // A file of the page `/docs`, which is kept beside the sources.
  const page = component(reference.package, { ...reference, license: 'MIT' });
  const byReference = new Map([...found, page].map((each) => [each['bom-ref'], each]));
  return [...byReference].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each);
}

function component(name: string, { version, integrity, license }: Locked) {
  const purl = purlOf(name, version, 'npm');
  const content = Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
    hashes: [{ alg: 'SHA-512', content }],
    purl,
  };
}

function purlOf(name: string, version: string, kind: 'npm' | 'python'): string {
  const type = kind === 'npm' ? 'npm' : 'pypi';
  return `pkg:${type}/${name.replace('@', '%40')}@${version}`;
}
