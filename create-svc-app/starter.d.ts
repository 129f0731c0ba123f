export type Language = 'typescript' | 'python';

export interface StarterOptions {
  /** The folder of the templates. */
  readonly templates: string;
  /** The folder of the new application. */
  readonly folder: string;
  readonly language: Language;
  /** The release of the packages. */
  readonly version: string;
  /** The version of Node that runs this, such as 24.1.0. */
  readonly node: string;
  /** A folder with the packages as files; absent for those of the registry. */
  readonly from?: string | undefined;
}

/** A refusal in words for the person who typed the command. */
export declare class StarterFault extends Error {}

export declare const languages: readonly Language[];

/** Writes the files of a new application, and answers what to do next. Throws `StarterFault` before it writes, or where the disk refuses. */
export declare function makeStarter(options: StarterOptions): string;
