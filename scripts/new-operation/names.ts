/** The names that follow from an operation id such as `getCanonicalFence`. */

export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter, at: number) => `${at === 0 ? '' : '-'}${letter.toLowerCase()}`);
}

export function pascal(name: string): string {
  return name.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The id without its verb: `CanonicalFence` of `getCanonicalFence`. */
export function subjectOf(id: string): string {
  return id.replace(/^[a-z]+/, '') || pascal(id);
}

/** `Get canonical fence` of `getCanonicalFence`. */
export function sentence(id: string): string {
  const words = kebab(id).replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
