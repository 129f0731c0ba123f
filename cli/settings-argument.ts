/** A first word that is no option names the settings file, since `svc doctor FILE` is what people type. */
export function withSettingsFile(args: readonly string[]): readonly string[] {
  const [first, ...others] = args;
  return first !== undefined && !first.startsWith('-') ? [`--settings=${first}`, ...others] : args;
}
