import type { SdkContract, SdkMember, SdkModel } from './ir.ts';
import {
  docstring,
  isPythonName,
  type Place,
  PYTHON_HEADER,
  PYTHON_WIDTH,
  pythonImports,
  pythonLiteral,
  pythonType,
} from './python-text.ts';
import { modelsIn } from './types.ts';

const JSON_TYPES = `JsonValue: TypeAlias = Union[None, bool, int, float, str, "list[JsonValue]", "dict[str, JsonValue]"]
"""Any JSON value, as \`json.loads\` gives it."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""Any JSON object, as \`json.loads\` gives it."""
`;

/** Names used in types: a class member of such a name would hide the type from later members. */
const TYPE_NAMES = new Set(
  'str int float bool object list dict Mapping Sequence Literal NotRequired FilePart JsonValue JsonObject'.split(
    ' ',
  ),
);

/** `models.py`: one type per model, with the names and shapes of the wire. */
export function pythonModels({ models, version }: SdkContract): string {
  const byFile = Map.groupBy(models, ({ file }) => file);
  const parts = [...byFile].map(([file, all]) => {
    const classes = all.filter(({ members }) => members !== null);
    return classes.length === 0 ? '' : `\n\n# ---- ${file}\n${classes.map(classText).join('')}`;
  });
  const aliases = inOrder(models.filter(({ members }) => members === null)).map(aliasText);
  const body = `${JSON_TYPES}${parts.join('')}\n\n# ---- other names of types\n${aliases.join('')}`;
  const names = ['JsonObject', 'JsonValue', ...models.map(({ name }) => name)].toSorted();
  const typing = pythonImports(body, [
    ['collections.abc', ['Mapping', 'Sequence']],
    ['typing', ['TYPE_CHECKING', 'Literal', 'TypeAlias', 'TypedDict', 'Union']],
  ]);
  const required = body.includes('NotRequired[');
  const files = body.includes('FilePart') ? '\nfrom .._operation import FilePart\n' : '';
  const head = typing
    .join('\n')
    .replace('from typing import ', `from typing import ${required ? 'TYPE_CHECKING, ' : ''}`);
  return `${PYTHON_HEADER}
${docstring([`The models of release ${version}: the types of requests and answers, under their wire names.`])}
from __future__ import annotations

${required ? 'import sys\n' : ''}${head}
${files}${required ? NOT_REQUIRED : ''}
__all__ = [
${names.map((name) => `    ${pythonLiteral(name)},\n`).join('')}]

${body}`;
}

// Type checkers bring typing_extensions themselves; Python 3.10 needs it only to resolve annotations at run time.
const NOT_REQUIRED = `
if sys.version_info >= (3, 11):
    from typing import NotRequired
elif TYPE_CHECKING:
    from typing_extensions import NotRequired
`;

function classText(model: SdkModel): string {
  const { name } = model;
  const members = model.members ?? [];
  const place = placeOf(model);
  const doc = modelDoc(model);
  if (members.some((member) => !isPythonName(member.name) || TYPE_NAMES.has(member.name))) {
    return `\n${functionalText(name, members, place)}${docstring([...doc, memberList(members)])}`;
  }
  if (model.keepsMembers && place === 'request') return openText(model, members, doc);
  const fields = members.map(
    (member) =>
      `${wrapped(`    ${member.name}: ${memberType(member, place)}`)}\n${docstring([memberDoc(member)], '    ')}`,
  );
  return `\n\nclass ${name}(TypedDict):\n${docstring(doc, '    ')}\n${fields.join('') || '    pass\n'}`;
}

/** A line that is too long has each word of its literal on a line of its own. */
function wrapped(line: string): string {
  if (line.length <= PYTHON_WIDTH) return line;
  return line.replace(/Literal\[([^\]]*)\]/, (_, words: string) => {
    const each = words.split(', ').map((word) => `        ${word},\n`);
    return `Literal[\n${each.join('')}    ]`;
  });
}

/** A TypedDict allows no further members, so callers may as well send any mapping. */
function openText({ name }: SdkModel, members: readonly SdkMember[], doc: readonly string[]): string {
  const known = `_${name}Members`;
  const fields = members.map(
    (member) =>
      `    ${member.name}: ${memberType(member, 'request')}\n${docstring([memberDoc(member)], '    ')}`,
  );
  const alias = `${name}: TypeAlias = Union[${known}, Mapping[str, object]]\n${docstring(doc)}`;
  return `\n\nclass ${known}(TypedDict):\n${docstring(doc, '    ')}\n${fields.join('')}\n\n${alias}`;
}

function placeOf({ role }: SdkModel): Place {
  return role === 'request' ? 'request' : 'response';
}

/** Aliases are evaluated in order, so each follows those that it names. Classes come before all aliases. */
function inOrder(aliases: readonly SdkModel[]): readonly SdkModel[] {
  const names = new Set(aliases.map(({ name }) => name));
  const done = new Map<string, SdkModel>();
  while (done.size < aliases.length) {
    const ready = aliases.filter(
      ({ name, type }) =>
        !done.has(name) &&
        (type === null ? [] : modelsIn(type)).every((other) => !names.has(other) || done.has(other)),
    );
    if (ready.length === 0) throw new Error('names of types name each other in a circle');
    for (const model of ready) done.set(model.name, model);
  }
  return [...done.values()];
}

function aliasText(model: SdkModel): string {
  const text = model.type === null ? 'JsonValue' : pythonType(model.type, placeOf(model));
  const line = `${model.name}: TypeAlias = ${text}`;
  const whole = line.length <= PYTHON_WIDTH ? line : `${model.name}: TypeAlias = (\n    ${text}\n)`;
  return `\n${whole}\n${docstring(modelDoc(model))}`;
}

function modelDoc({ description, deprecated, preview }: SdkModel): string[] {
  return [
    description,
    preview ? 'Preview: may change in any release, also in ways that break callers.' : '',
    deprecated ? 'Deprecated.' : '',
  ].filter((text) => text !== '');
}

function memberDoc({ description, deprecated }: SdkMember): string {
  return deprecated ? `Deprecated. ${description}` : description;
}

function memberType({ type, required }: SdkMember, place: Place): string {
  const text = pythonType(type, place);
  return required ? text : `NotRequired[${text}]`;
}

/** Members whose names are invalid in a class need the functional syntax, which has no place for docstrings. */
function functionalText(name: string, members: readonly SdkMember[], place: Place): string {
  const lines = members.map(
    (member) => `        ${pythonLiteral(member.name)}: ${pythonLiteral(memberType(member, place))},\n`,
  );
  return `${name} = TypedDict(\n    ${pythonLiteral(name)},\n    {\n${lines.join('')}    },\n)\n`;
}

function memberList(members: readonly SdkMember[]): string {
  return members.map((member) => `  \`${member.name}\`: ${memberDoc(member)}`).join('\n');
}

/** `models.py` of the package: the same names, for callers. */
export function pythonPublicModels({ models }: SdkContract): string {
  const names = ['JsonObject', 'JsonValue', ...models.map(({ name }) => name)].toSorted();
  return `${PYTHON_HEADER}
"""The models: the types of requests and answers, under their wire names."""

from ._generated.models import (
${names.map((name) => `    ${name} as ${name},\n`).join('')})
`;
}

/** `problems.py`: the codes of errors. */
export function pythonProblems({ problems }: SdkContract): string {
  return `${PYTHON_HEADER}

from typing import Literal, TypeAlias

ProblemCode: TypeAlias = Literal[
${problems.map(({ code }) => `    ${pythonLiteral(code)},\n`).join('')}]
"""The closed vocabulary of problem codes. It only grows: a later service may answer others."""
`;
}

/** `version.py`: the release. The package build reads it. */
export function pythonVersion({ version }: SdkContract): string {
  return `${PYTHON_HEADER}

VERSION = ${pythonLiteral(version)}
"""The release of the contract, the service and this package."""
`;
}
