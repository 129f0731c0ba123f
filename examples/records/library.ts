import { globSync, readFileSync } from 'node:fs';
import type { SvcRecordInput } from '../../sdk/typescript/src/index.ts';
import { topicsOf } from './topics.ts';

/**
 * The data set: the pages of this project, cut into passages, and every operation and member of its contract. The first
 * edition has the contract of the release 0.5.0, the second one that of this folder.
 */

export type Edition = 1 | 2;

export interface Passage extends SvcRecordInput {
  readonly metadata: {
    readonly edition: Edition;
    readonly kind: 'passage' | 'operation' | 'member';
    readonly words: number;
    /** Whether the record is one of those that readers check. */
    readonly sample: boolean;
  };
  readonly content: { readonly title: string; readonly text: string };
  readonly vectors?: { readonly topics: { readonly values: readonly number[] } };
}

const contracts: Readonly<Record<Edition, string>> = {
  1: 'examples/records/openapi-0.5.0.json',
  2: 'contracts/generated/openapi/svc.json',
};
const pages = ['*.md', 'docs/**/*.md', 'sdk/*/*.md', 'examples/*/README.md'];
const SAMPLE_EVERY = 40;

/** A text with its place, before it has the number of its record. */
interface Piece {
  readonly kind: Passage['metadata']['kind'];
  readonly source: string;
  readonly title: string;
  readonly text: string;
}

/** The records of an edition, at most `most` of them, evenly from all of it. `root` is the folder of the project. */
export function libraryOf(root: string, edition: Edition, most: number): Passage[] {
  const files = globSync(pages, { cwd: root }).sort();
  const pieces = [
    ...files.flatMap((file) => piecesOfPage(file, readFileSync(`${root}/${file}`, 'utf8'))),
    ...piecesOfContract(readFileSync(`${root}/${contracts[edition]}`, 'utf8')),
  ];
  const step = Math.max(1, pieces.length / most);
  const kept = pieces.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
  return kept.map((piece, at) => recordOf(piece, at, edition));
}

/** The operations of the first edition, each with what it does: the same for ever. */
export function operationsOf(root: string): readonly Pick<Piece, 'title' | 'text'>[] {
  const pieces = piecesOfContract(readFileSync(`${root}/${contracts[1]}`, 'utf8'));
  return pieces.filter(({ kind }) => kind === 'operation');
}

function recordOf({ kind, source, title, text }: Piece, at: number, edition: Edition): Passage {
  const sample = at % SAMPLE_EVERY === 0;
  const values = topicsOf(`${title} ${text}`);
  return {
    id: String(at).padStart(5, '0'),
    partitionKey: source,
    type: kind,
    metadata: { edition, kind, words: text.split(/\s+/).length, sample },
    content: { title, text },
    ...(values === null ? {} : { vectors: { topics: { values } } }),
  };
}

/** The paragraphs, code blocks and table rows of a page, each with the heading that it is under. */
export function piecesOfPage(source: string, page: string): Piece[] {
  const pieces: Piece[] = [];
  let title = source;
  let lines: string[] = [];
  let fenced = false;
  const flush = () => {
    const text = lines.join('\n').trim();
    lines = [];
    if (text !== '' && !text.startsWith('<!--')) pieces.push({ kind: 'passage', source, title, text });
  };
  for (const line of page.split('\n')) {
    const heading = /^#+ (.*)$/.exec(line);
    const row = /^\|.*\|$/.test(line);
    if (line.startsWith('```')) fenced = !fenced;
    if (!fenced && (heading !== null || row || line.trim() === '')) flush();
    if (!fenced && heading !== null) title = heading[1] ?? source;
    // The line below the names of the columns holds dashes alone.
    else if (!/^[|\s:-]+$/.test(line)) lines.push(line);
    if (!fenced && row) flush();
  }
  flush();
  return pieces;
}

interface Described {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
}

interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, Described>> }>>;
  };
}

function piecesOfContract(text: string): Piece[] {
  const { paths, components } = JSON.parse(text) as Contract;
  const operations = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ operationId, summary, description }): Piece[] =>
      operationId === undefined
        ? []
        : [
            {
              kind: 'operation',
              source: 'operations',
              title: operationId,
              text: `${summary ?? ''}\n${description ?? ''}`.trim(),
            },
          ],
    ),
  );
  const members = Object.entries(components.schemas).flatMap(([model, { properties = {} }]) =>
    Object.entries(properties).map(([name, member]): Piece => {
      return { kind: 'member', source: model, title: `${model}.${name}`, text: member.description ?? name };
    }),
  );
  return [...operations, ...members];
}
