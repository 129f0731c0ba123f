import { posix } from 'node:path';

/** Words and openings that the texts of the project avoid: pure rules over one file's path and text. */

/** A word that hides the actor or the thing: the sentence around it says who does what instead. */
export const avoided: readonly string[] = ['told', 'nobody', 'whatever', 'whoever', 'lets go', 'becomes of'];

/** A comment states a reason or a rule; at most this many lines of the whole repository begin as a question does. */
export const OPENINGS_MAX = 40;

// Two words may stand on two lines of a comment.
const words = new RegExp(
  `\\b(?:${avoided.map((word) => word.replace(' ', '(?:\\s|\\*|//|#)+')).join('|')})\\b`,
  'gi',
);
const opening = /^[^\S\n]*(?:\/\/|\*|#|\/\*\*?|""") ?What\b/gm;

export interface Unread {
  readonly path: RegExp;
  readonly why: string;
}

/** Tracked files that the check does not read. */
export const unread: readonly Unread[] = [
  { path: /(?:^|\/)LICENSE$/, why: 'the words of the licence are not ours' },
  { path: /^contracts\/releases\//, why: 'a release stays as it was published' },
  { path: /^examples\/records\/openapi-0\.5\.0\.json$/, why: 'a release stays as it was published' },
  { path: /^contracts\/generated\//, why: 'generated from contracts/operations and contracts/schemas' },
  { path: /^contracts\/public-sdk-surface\.json$/, why: 'generated from contracts/operations' },
  { path: /^test\/notes\/contracts\/generated\//, why: 'generated from test/notes/contracts' },
  { path: /^docs\/reference\//, why: 'generated from the contract and the settings' },
  { path: /^sdk\/[^/]+\/src\/(?:svc_client\/_)?generated\//, why: 'generated from the contract' },
  { path: /^sdk\/[^/]+\/api\.md$/, why: 'generated from the contract' },
  { path: /^package-lock\.json$/, why: 'written by npm' },
  { path: /^test\/prose(?:\.test)?\.ts$/, why: 'names the words that it looks for' },
  { path: /\.(?:br|png)$/, why: 'no text' },
];

export interface Fault {
  readonly line: number;
  readonly words: string;
}

/** The avoided words in the texts of a file: its comments, its sentences and its titles. Names of the code are no texts. */
export function wordFaults(path: string, text: string): Fault[] {
  return textsOf(path, text).flatMap(({ at, said }) =>
    [...withoutQuotations(said).matchAll(words)].map((found) => ({
      line: lineAt(text, at + found.index),
      words: found[0].toLowerCase().replace(/[\s*/#]+/g, ' '),
    })),
  );
}

/** The comment lines and headings that begin with "What". */
export function openingFaults(path: string, text: string): Fault[] {
  return [...current(path, text).matchAll(opening)].map((found) => ({
    line: lineAt(text, found.index + found[0].length),
    words: 'What',
  }));
}

interface Text {
  readonly at: number;
  readonly said: string;
}

// A comment, or a string with its quotation marks. A regular expression is passed over, so that a quotation mark in it begins
// nothing; a slash begins one where a value may stand.
const ofTypeScript =
  /\/\*[^]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[^])*`|(?<=(?:[(,=:[!&|?{;>]|\breturn|^)\s*)\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//gm;
const ofPython = /#[^\n]*|"""[^]*?"""|'''[^]*?'''|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g;
const ofJson = /"(?:[^"\\\n]|\\.)*"/g;

const languages: Readonly<Record<string, RegExp>> = {
  '.ts': ofTypeScript,
  '.js': ofTypeScript,
  '.mjs': ofTypeScript,
  '.py': ofPython,
  '.pyi': ofPython,
  '.toml': ofPython,
  '.tf': ofPython,
  '.hcl': ofPython,
  '.tfvars': ofPython,
  '.json': ofJson,
};

/** A file of no language above is one text. A string of a single word is a value or a name, and is passed over. */
function textsOf(path: string, text: string): Text[] {
  const language = languages[posix.extname(path)];
  if (language === undefined) return [{ at: 0, said: current(path, text) }];
  const texts = [...text.matchAll(language)].flatMap(({ 0: found, index }) => {
    if (found.startsWith('//') || found.startsWith('/*') || found.startsWith('#'))
      return [{ at: index, said: found }];
    const delimiter = /^(?:"""|'''|["'`])/.exec(found)?.[0];
    if (delimiter === undefined) return [];
    const inner = found.slice(delimiter.length, -delimiter.length);
    return /\s/.test(inner) ? [{ at: index + delimiter.length, said: inner }] : [];
  });
  return path.endsWith('.py') ? [...texts, ...titlesOf(text)] : texts;
}

/** The title of a test in Python is the name of its function or class. */
function titlesOf(text: string): Text[] {
  return [...text.matchAll(/(?<=\b(?:def test_|class Test))\w+/g)].map(({ 0: name, index }) => ({
    at: index,
    said: name.replaceAll('_', ' ').replace(/(?<=[a-z])(?=[A-Z])/g, ' '),
  }));
}

/** Released sections of the changelog are history, and stay as they were published. */
function current(path: string, text: string): string {
  if (path !== 'CHANGELOG.md') return text;
  const sections = [...text.matchAll(/^## /gm)].map(({ index }) => index);
  return text.slice(0, sections[1]);
}

/** Blanks of the same length stand for what is quoted and for the code of a template, so that places stay what they are. */
function withoutQuotations(said: string): string {
  return said.replaceAll('```', '   ').replace(quoted, (text) => ' '.repeat(text.length));
}

// A quotation may go on in the next line, but not in the next paragraph.
const quoted = /\$\{[^}]*\}|`(?:[^`\n]|\n(?!\s*\n))*`|"(?:[^"\n]|\n(?!\s*\n))*"|“[^”]*”/g;

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}
