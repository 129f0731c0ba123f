import { type CompletedProgram, type CompletedValue, optionsAt, quoted } from './tree.ts';

/** Works from bash 3.2, the version of macOS, on. */
export function bashScript(program: CompletedProgram): string {
  const { name, commands, valued } = program;
  const words = commands.map(({ path, words: below }) => {
    const options = optionsAt(program, path).flatMap(({ names }) => names);
    return `    ${quoted(path)}) below=${quoted(below.map((word) => word.name).join(' '))}; options=${quoted([...new Set(options)].join(' '))} ;;`;
  });
  const values = commands.flatMap(({ path }) =>
    optionsAt(program, path).flatMap(({ names, value }) =>
      value === null || value.kind === 'any'
        ? []
        : names.map((option) => valueLine(`${path}|${option}`, value)),
    ),
  );
  return template
    .replaceAll('@name@', name)
    .replace('@valued@', () => valued.join('|'))
    .replace('@words@', () => words.join('\n'))
    .replace('@values@', () => values.join('\n'));
}

function valueLine(place: string, value: CompletedValue): string {
  const words = 'words' in value ? value.words.join(' ') : '';
  return `    ${quoted(place)}) kind=${value.kind}; values=${quoted(words)} ;;`;
}

// bash also splits the line at = and @: `--output=json` and `--body @file` are three words.
const template = `# Completion of @name@ for bash: source <(@name@ completion bash)
_@name@() {
  local current="\${COMP_WORDS[COMP_CWORD]}" option='' path='@name@' at word
  local below='' options='' kind='' values='' prefix=''
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    case "$word" in
      @valued@)
        [ "\${COMP_WORDS[at + 1]}" = '=' ] && ((at++))
        ((at++))
        # The value is the word that is being completed.
        [ "$at" -ge "$COMP_CWORD" ] && option="$word"
        ;;
      -*) ;;
      *)
        _@name@_words "$path"
        case " $below " in *" $word "*) path="$path $word" ;; esac
        ;;
    esac
  done
  if [ "$current" = '=' ]; then current=''; fi
  word="\${COMP_WORDS[COMP_CWORD - 1]}"
  if [ "$word" = '@' ] || [ "$word" = '=@' ]; then
    # The sign is a word of its own here, but what is put in takes its place, too.
    word="\${COMP_WORDS[COMP_CWORD - 2]}"
    [ "$word" = '=' ] && word="\${COMP_WORDS[COMP_CWORD - 3]}"
    [ "$word" = '--body' ] && kind=file prefix='@'
  elif [ -n "$option" ]; then
    _@name@_value "$path|$option"
    if [ "$kind" = body ]; then
      case "$current" in @ | =@) kind=file prefix='@' current='' ;; *) kind='' ;; esac
    fi
  else
    _@name@_words "$path"
    kind=words
    case "$current" in -*) values="$options" ;; *) values="$below" ;; esac
  fi
  local IFS=$'\\n'
  COMPREPLY=()
  case "$kind" in
    words | starts)
      IFS=$' \\t\\n'
      COMPREPLY=($(compgen -W "$values" -- "$current"))
      if [ "$kind" = starts ]; then compopt -o nospace 2>/dev/null; fi
      ;;
    file)
      COMPREPLY=($(compgen -P "$prefix" -f -- "$current"))
      compopt -o filenames 2>/dev/null
      ;;
  esac
  return 0
}
_@name@_words() {
  case "$1" in
@words@
  esac
}
_@name@_value() {
  case "$1" in
@values@
  esac
}
complete -F _@name@ @name@`;
