/** A request with a strategy, to be copied into a terminal or a program. */

export const SNIPPETS = { curl: curl, TypeScript: typescript, Python: python } as const;
export type Language = keyof typeof SNIPPETS;
export const LANGUAGES = Object.keys(SNIPPETS) as Language[];

export interface Copied {
  /** Of this Worker, with `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly strategy: Readonly<Record<string, string | number>>;
  /** `input` is that of the Responses API. */
  readonly field: 'messages' | 'input';
}

/** The array is a file of the reader's: it is too long for a command. */
function curl({ baseUrl, model, strategy, field }: Copied): string {
  const path = field === 'messages' ? 'chat/completions' : 'responses';
  return `# ${field}.json: your conversation, the whole array, every time
{ cat <<'EOF'
${JSON.stringify({ model, memory_strategy: strategy }, null, 2).slice(0, -2)},
  "${field}":
EOF
cat ${field}.json; echo '}'; } | curl ${baseUrl}/${path} \\
  -H "authorization: Bearer $OPENAI_API_KEY" -H 'content-type: application/json' -d @-`;
}

function typescript({ baseUrl, model, strategy, field }: Copied): string {
  const [call, type] =
    field === 'messages'
      ? ['chat.completions', 'OpenAI.ChatCompletionCreateParamsNonStreaming']
      : ['responses', 'OpenAI.Responses.ResponseCreateParamsNonStreaming'];
  return `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${JSON.stringify(baseUrl)} });
const ${field}: ${type}["${field}"] = []; // your conversation: the whole array, every time

const answer = await client.${call}.create({
  model: ${JSON.stringify(model)},
  ${field},
  memory_strategy: ${JSON.stringify(strategy)},
} as ${type});`;
}

function python({ baseUrl, model, strategy, field }: Copied): string {
  const call = field === 'messages' ? 'chat.completions' : 'responses';
  // JSON of texts and numbers is Python too.
  return `from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(baseUrl)})
${field} = []  # your conversation: the whole array, every time

answer = client.${call}.create(
    model=${JSON.stringify(model)},
    ${field}=${field},
    extra_body={"memory_strategy": ${JSON.stringify(strategy)}},
)`;
}
