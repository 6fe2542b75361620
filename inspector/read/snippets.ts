/** A request with a strategy, to be copied into a terminal or a program. */

export const SNIPPETS = { curl: curl, TypeScript: typescript, Python: python } as const;
export type Language = keyof typeof SNIPPETS;
export const LANGUAGES = Object.keys(SNIPPETS) as Language[];

export interface Copied {
  /** Of this Worker, without `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly strategy: Readonly<Record<string, string | number>>;
  readonly api: Api;
}

const OPENAI = {
  client: 'OpenAI',
  package: 'openai',
  /** What follows the Worker's URL in the client's. */
  base: '/v1',
  headers: ['authorization: Bearer $OPENAI_API_KEY'],
  needs: {},
  model: 'gpt-6-luna',
} as const;

const ANTHROPIC = {
  client: 'Anthropic',
  package: '@anthropic-ai/sdk',
  base: '',
  headers: ['x-api-key: $ANTHROPIC_API_KEY', 'anthropic-version: 2023-06-01'],
  needs: { max_tokens: 1024 },
  model: 'claude-sonnet-5-5',
} as const;

/** Each with the field of its array, the client's method, and the type of the method's argument. */
export const APIS = {
  chat: {
    ...OPENAI,
    path: 'chat/completions',
    field: 'messages',
    method: 'chat.completions',
    type: 'ChatCompletionCreateParamsNonStreaming',
  },
  responses: {
    ...OPENAI,
    path: 'responses',
    field: 'input',
    method: 'responses',
    type: 'Responses.ResponseCreateParamsNonStreaming',
  },
  messages: {
    ...ANTHROPIC,
    path: 'messages',
    field: 'messages',
    method: 'messages',
    type: 'MessageCreateParamsNonStreaming',
  },
} as const;
export type Api = keyof typeof APIS;

/** The array is a file of the reader's: it is too long for a command. */
function curl({ baseUrl, model, strategy, api }: Copied): string {
  const { path, field, headers, needs } = APIS[api];
  const lines = [...headers, 'content-type: application/json'].map((header) => `  -H "${header}"`);
  return `# ${field}.json: your conversation, the whole array, every time
{ cat <<'EOF'
${JSON.stringify({ model, ...needs, memory_strategy: strategy }, null, 2).slice(0, -2)},
  "${field}":
EOF
cat ${field}.json; echo '}'; } | curl ${baseUrl}/v1/${path} \\
${lines.join(' \\\n')} -d @-`;
}

function typescript({ baseUrl, model, strategy, api }: Copied): string {
  const { client, base, field, method, needs, ...of } = APIS[api];
  const type = `${client}.${of.type}`;
  const needed = Object.entries(needs).map(([key, value]) => `\n  ${key}: ${value},`);
  return `import ${client} from "${of.package}";

const client = new ${client}({ baseURL: ${JSON.stringify(`${baseUrl}${base}`)} });
const ${field}: ${type}["${field}"] = []; // your conversation: the whole array, every time

const answer = await client.${method}.create({
  model: ${JSON.stringify(model)},${needed.join('')}
  ${field},
  memory_strategy: ${JSON.stringify(strategy)},
} as ${type});`;
}

function python({ baseUrl, model, strategy, api }: Copied): string {
  const { client, base, field, method, needs } = APIS[api];
  const needed = Object.entries(needs).map(([key, value]) => `\n    ${key}=${value},`);
  // JSON of texts and numbers is Python too.
  return `from ${client.toLowerCase()} import ${client}

client = ${client}(base_url=${JSON.stringify(`${baseUrl}${base}`)})
${field} = []  # your conversation: the whole array, every time

answer = client.${method}.create(
    model=${JSON.stringify(model)},${needed.join('')}
    ${field}=${field},
    extra_body={"memory_strategy": ${JSON.stringify(strategy)}},
)`;
}
