import type { SdkOperation, SdkRequest } from './ir.ts';

/**
 * The paragraphs of a method's comment, for every language: its purpose, route, limits and retries. `firstPage` is
 * the language's phrase for a request of one page.
 */
export function docParagraphs(operation: SdkOperation, firstPage: string): readonly string[] {
  const { summary, description, stability, deprecation } = operation;
  return [
    `${summary}. ${description}`,
    stability === 'preview'
      ? '**Preview**: opt-in; any release may change it in ways that break callers.'
      : '',
    deprecation === null
      ? ''
      : `**Deprecated** since ${deprecation.since}, removed in ${deprecation.removal}: use \`${deprecation.replacement}\`.`,
    routeSentence(operation),
    operation.request === null ? '' : requestSentence(operation.request),
    repeatSentence(operation),
    operation.paging === null
      ? ''
      : `A list whose pages are requested on demand. ${firstPage} the first page; iteration yields every entry of \`${operation.paging.items}\` up to the last page.`,
  ].filter((text) => text !== '');
}

function routeSentence({
  method,
  pathTemplate,
  accessOperation,
  authorizationClass,
  anonymous,
}: SdkOperation): string {
  const access = anonymous
    ? 'needs no credential'
    : accessOperation === null
      ? `access by \`${authorizationClass}\``
      : `needs the access operation \`${accessOperation}\` of \`${authorizationClass}\``;
  return `\`${method} ${pathTemplate}\`; ${access}.`;
}

function requestSentence(request: SdkRequest): string {
  const limit = `at most ${grouped(request.bytesMax)} bytes`;
  const more = request.overLimit === null ? '' : ` (more: \`${request.overLimit.problem}\`)`;
  if (request.kind === 'bytes') return `The request is bytes, ${limit}${more}.`;
  if (request.kind === 'multipart') {
    const parts = request.parts.map(({ name, required }) => `\`${name}\`${required ? '' : ' (optional)'}`);
    return `The request is a form of the parts ${parts.join(', ')}, ${limit} together${more}.`;
  }
  const repeats = request.repeatsRoute.map((name) => `\`${name}\``).join(' and ');
  const route = repeats === '' ? '' : ` You can omit its ${repeats}: the route supplies it.`;
  return `The request is JSON, ${limit}${more}.${route}`;
}

function repeatSentence({ retry, idempotency }: SdkOperation): string {
  const { place, requirement } = idempotency;
  if (retry === 'safe') return 'The client retries this read after a transient failure.';
  if (place === null)
    return `The client never retries it: it takes no idempotency key (in the contract: ${requirement}).`;
  const places = [
    ...(place.in === 'header' ? [`the header \`${place.name}\``] : []),
    ...(place.member === null ? [] : [`the member \`${place.member}\` of the request`]),
  ];
  return `The client retries it only with your idempotency key, which goes into ${places.join(' or ')} (in the contract: ${requirement}).`;
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
