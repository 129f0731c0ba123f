import type { SdkOperation, SdkRequest } from './ir.ts';

/**
 * What a reader of a method's comment has to know, in words that hold in every language: what it does, its route, its
 * bounds, when a client repeats it. Each says where the rule stands. `firstPage` is how a language asks for one page alone.
 */
export function docParagraphs(operation: SdkOperation, firstPage: string): readonly string[] {
  const { summary, description, stability, deprecation } = operation;
  return [
    `${summary}. ${description}`,
    stability === 'preview'
      ? '**Preview**: opt-in, and may change in any release, also in ways that break callers.'
      : '',
    deprecation === null
      ? ''
      : `**Deprecated** since ${deprecation.since}, removed in ${deprecation.removal}: use \`${deprecation.replacement}\`.`,
    routeSentence(operation),
    operation.request === null ? '' : requestSentence(operation.request),
    repeatSentence(operation),
    operation.paging === null
      ? ''
      : `A list in pages, asked for as it is used. ${firstPage} the first page; iterated, every entry of \`${operation.paging.items}\` up to the last page.`,
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
    ? 'open to everybody'
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
  const route = repeats === '' ? '' : ` Its ${repeats} can be left out: the route says it.`;
  return `The request is JSON, ${limit}${more}.${route}`;
}

function repeatSentence({ retry, idempotency }: SdkOperation): string {
  const { place, requirement } = idempotency;
  if (retry === 'safe') return 'A read: the client sends it again after a failure that may pass.';
  if (place === null)
    return `The client never sends it again by itself: it takes no idempotency key (in the contract: ${requirement}).`;
  const places = [
    ...(place.in === 'header' ? [`the header \`${place.name}\``] : []),
    ...(place.member === null ? [] : [`the member \`${place.member}\` of the request`]),
  ];
  return `The client sends it again only with an idempotency key of yours, which goes into ${places.join(' or ')} (in the contract: ${requirement}).`;
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
