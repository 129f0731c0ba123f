import { docComment, HEADER, quote, union } from '../print.ts';
import type { SdkContract, SdkModel } from './ir.ts';
import { docBlock, memberText, typeText } from './typescript-text.ts';

const JSON_TYPES = `export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

export type JsonObject = { readonly [member: string]: JsonValue };

/** A value that \`JSON.stringify\` encodes without loss. */
export type JsonInput = null | boolean | number | string | object;
`;

/** The package's exports besides models and parameters. They would silently hide a model of the same name. */
export const PACKAGE_NAMES: ReadonlySet<string> = new Set(
  (
    'AnswerInfo Call PagedCall SvcClient Operations ProblemCode VERSION BinaryContent FilePart JsonValue JsonObject ' +
    'JsonInput CallOptions ClientOptions Credential FetchLike HeaderValues KeyedCallOptions Problem ProblemAdmission ProblemPlace ' +
    'RunWaitOptions World APIAbortError APIConnectionError APIResponseError APIStatusError APITimeoutError AuthenticationError ' +
    'BadRequestError ConflictError InternalServerError NotFoundError NotModifiedError PayloadTooLargeError PermissionDeniedError ' +
    'PreconditionFailedError RateLimitError SvcError UnavailableError UnprocessableEntityError'
  ).split(' '),
);

/** `models.ts`: one type per model, with the names and shapes of the wire. */
export function typescriptModels({ models }: SdkContract): string {
  const hidden = models.find(({ name }) => PACKAGE_NAMES.has(name));
  if (hidden !== undefined) throw new Error(`the package has another ${hidden.name} than the model`);
  const byFile = Map.groupBy(models, ({ file }) => file);
  const parts = [...byFile].map(([file, all]) => `\n// ---- ${file}\n${all.map(modelText).join('')}`);
  const files = parts.some((part) => part.includes('FilePart'))
    ? "import type { FilePart } from '../operation.ts';\n\n"
    : '';
  return `${HEADER}\n\n${files}${JSON_TYPES}${parts.join('')}`;
}

function modelText(model: SdkModel): string {
  const { name, description, deprecated, preview, members, type } = model;
  const place = model.role === 'request' ? 'request' : 'response';
  const notes = [description, preview ? 'Preview: may change in any release.' : ''];
  const tags = [...(preview ? ['@beta'] : []), ...(deprecated ? ['@deprecated'] : [])];
  const doc = docBlock(notes, tags);
  if (members === null) {
    return `\n${doc}export type ${name} = ${type === null ? 'JsonValue' : typeText(type, place)};\n`;
  }
  const texts = members.map((member) => memberText(member, typeText(member.type, place), member.description));
  const further = model.keepsMembers
    ? '  /** Further members, which the service keeps. */\n  readonly [member: string]: unknown;\n'
    : '';
  return `\n${doc}export type ${name} = {\n${texts.join('')}${further}};\n`;
}

/** `problems.ts`: the codes of errors. */
export function typescriptProblems({ problems }: SdkContract): string {
  const doc = docComment(
    'The closed vocabulary of problem codes. It only grows: a later service may return others.',
  );
  return `${HEADER}\n\n${doc}export type ProblemCode = ${union(problems.map(({ code }) => quote(code)))};\n`;
}

/** `version.ts`: the release. */
export function typescriptVersion({ version }: SdkContract): string {
  return `${HEADER}\n\n/** The release of the contract, the service and this package. */\nexport const VERSION = ${quote(version)};\n`;
}
