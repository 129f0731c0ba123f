import { type CompletedOption, type CompletedProgram, type Described, quoted } from './tree.ts';

/** For `source <(svc completion zsh)`, or as the file `_svc` in a folder of `fpath`. */
export function zshScript({ name, commands, valued }: CompletedProgram): string {
  const words = commands.map(
    ({ path, words: below }) => `    ${quoted(path)}) below=(${below.map(entry).join(' ')}) ;;`,
  );
  // Each case falls through (;|), so that a command also gets the options of its parents.
  const options = commands.map(
    ({ path, options: own }) =>
      `    ${quoted(path)}|${quoted(`${path} `)}*) options+=(${own.flatMap(optionEntries).join(' ')}) ;|`,
  );
  const values = commands.flatMap(({ path, options: own }) =>
    own.flatMap(({ names, value }) =>
      value === null || value.kind === 'any'
        ? []
        : names.map((option) => {
            const given = 'words' in value ? value.words.map(quoted).join(' ') : '';
            const place = `${quoted(path)}${path === name ? "*'|" : "(|' '*)'|"}${option}'`;
            return `    ${place}) kind=${value.kind}; values=(${given}) ;;`;
          }),
    ),
  );
  return template
    .replaceAll('@name@', name)
    .replace('@valued@', () => valued.join('|'))
    .replace('@words@', () => words.join('\n'))
    .replace('@options@', () => options.join('\n'))
    .replace('@values@', () => values.join('\n'));
}

/** `name:description`, the form that _describe reads. */
function entry({ name, description }: Described): string {
  const escaped = name.replaceAll(':', '\\:');
  return quoted(description === '' ? escaped : `${escaped}:${description}`);
}

function optionEntries({ names, description }: CompletedOption): string[] {
  return names.map((name) => entry({ name, description }));
}

const template = `#compdef @name@
# Completion of @name@ for zsh: source <(@name@ completion zsh)
_@name@() {
  local option='' place='@name@' word kind=''
  local -a below options values
  local -i at
  for ((at = 2; at < CURRENT; at++)); do
    word=\${words[at]}
    case $word in
      @valued@)
        ((at++))
        # The value is the word that is being completed.
        ((at >= CURRENT)) && option=$word
        ;;
      -*) ;;
      *)
        _@name@_words
        ((\${below[(I)\${(b)word}(|:*)]})) && place="$place $word"
        ;;
    esac
  done
  if [[ -z $option && $PREFIX == --*=* ]]; then
    option=\${PREFIX%%=*}
    compset -P 1 '*='
  fi
  if [[ -n $option ]]; then
    _@name@_value
    case $kind in
      words) compadd -- $values ;;
      starts) compadd -S '' -- $values ;;
      file) _files ;;
      body) compset -P '@' && _files ;;
    esac
    return
  fi
  if [[ $PREFIX == -* ]]; then
    _@name@_options
    _describe -o option options
  else
    _@name@_words
    ((\${#below})) && _describe command below
  fi
}
_@name@_words() {
  below=()
  case $place in
@words@
  esac
}
_@name@_options() {
  options=()
  case $place in
@options@
  esac
}
_@name@_value() {
  values=()
  case "$place|$option" in
@values@
  esac
}
if [[ $funcstack[1] == _@name@ ]]; then _@name@; else compdef _@name@ @name@; fi`;
