import { projectPackage } from '../build/project.ts';

/** The members that every package of this project shares, so that one release has one version and one home. */

export const SCOPE = '@svc-runtime';

export interface PackageMetadata {
  readonly name: string;
  readonly description: string;
  /** The folder of the sources in the repository; `.` for the whole. */
  readonly directory: string;
  readonly keywords: readonly string[];
}

/** The beginning of a `package.json` that a registry accepts. */
export function registryMembers({ name, description, directory, keywords }: PackageMetadata) {
  const { version, license, homepage, repository, bugs } = projectPackage();
  return {
    name,
    version,
    description,
    keywords: [...keywords],
    license,
    homepage,
    repository: directory === '.' ? repository : { ...repository, directory },
    bugs,
    // The first publication of a name is made by hand, without provenance: docs/releasing.md.
    publishConfig: { access: 'public', provenance: true },
  };
}

/** The name that npm gives to the archive of a package. */
export function archiveName(name: string): string {
  return `${name.replace(/^@/, '').replace('/', '-')}-${projectPackage().version}.tgz`;
}

export const commonKeywords = ['svc', 'document-store', 'outbox', 'durable-execution', 'workflow'];
