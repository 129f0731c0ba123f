import { isJsonObject, type JsonMembers } from '../../kernel/json-kinds.ts';

/** Contents in the members of the revision 2025-03-26, which has no links to resources and no metadata of contents. */

export function earlyContents(contents: readonly JsonMembers[]): readonly JsonMembers[] {
  return contents.map(earlyContent);
}

export function earlyMessages(messages: readonly JsonMembers[]): readonly JsonMembers[] {
  return messages.map((message) => {
    const { content } = message;
    return isJsonObject(content) ? { ...message, content: earlyContent(content) } : message;
  });
}

function earlyContent(content: JsonMembers): JsonMembers {
  const { type, uri, resource } = content;
  if (type === 'resource_link') return { type: 'text', text: uri };
  const { _meta, ...rest } = content;
  return isJsonObject(resource) ? { ...rest, resource: earlyContent(resource) } : rest;
}
