/** Reads the commands of the pages: words, quotes, variables and comments, not a whole shell. */

/** Its assignments and its words, after quotes and known variables. */
export interface Command {
  readonly assigned: Readonly<Record<string, string>>;
  readonly words: readonly string[];
}

/** A word with its quotes, an operator, a comment, or the end of a line. */
const TOKEN = /\n|&&|\|\|?|;|[<>]+|#[^\n]*|(?:'[^']*'|"(?:\\.|[^"\\])*"|\\[^\n]|[^\s'"|&;<>\\])+/g;
const ENDS = new Set(['\n', '&&', '||', '|', ';']);

/**
 * The commands of a script, in order.
 *
 * @param known values of variables; what the script assigns holds from then on
 */
export function commandsIn(script: string, known: Readonly<Record<string, string>> = {}): Command[] {
  const variables: Record<string, string> = { ...known };
  const commands: Command[] = [];
  let assigned: Record<string, string> = {};
  let words: string[] = [];
  const end = (): void => {
    if (words.length > 0 || Object.keys(assigned).length > 0) commands.push({ assigned, words });
    if (words.length === 0) Object.assign(variables, assigned);
    assigned = {};
    words = [];
  };
  let redirected = false;
  for (const [token] of script.replaceAll(/\\\n\s*/g, ' ').matchAll(TOKEN)) {
    if (ENDS.has(token)) end();
    else if (/^[<>]/.test(token)) redirected = true;
    else if (redirected) redirected = false;
    else if (!token.startsWith('#')) {
      const [, name, value = ''] = /^([A-Za-z_]\w*)=(.*)$/s.exec(token) ?? [];
      if (name !== undefined && words.length === 0) assigned[name] = plain(value, variables);
      else words.push(plain(token, variables));
    }
  }
  end();
  return commands;
}

/** Names of the variables that a script reads. */
export function variablesIn(script: string): string[] {
  const open = script.replaceAll(/'[^']*'|\\\$/g, '');
  return [...open.matchAll(/\$\{?([A-Za-z_]\w*)/g)].map(([, name]) => name ?? '');
}

/** A word without its quotes. An unknown variable stays, as `$NAME`. */
function plain(word: string, variables: Readonly<Record<string, string>>): string {
  const pieces = word.matchAll(/'([^']*)'|"((?:\\.|[^"\\])*)"|((?:\\.|[^'"\\])+)/gs);
  return [...pieces]
    .map(([, single, double, bare]) => {
      if (single !== undefined) return single;
      return (double ?? bare ?? '').replaceAll(/\\(.)|\$\{?([A-Za-z_]\w*)\}?/gs, (whole, escaped, name) =>
        escaped === undefined ? (variables[name] ?? whole) : escaped,
      );
    })
    .join('');
}

/** Whether a word is an option, and its name: `--url=x` is `url`. */
export function optionOf(word: string): string | undefined {
  return /^--([\w-]+)/.exec(word)?.[1];
}
