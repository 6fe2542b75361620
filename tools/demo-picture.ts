/**
 * The moving picture of README.md (`npm run demo:picture`), from a run of the demo: its table
 * fills, one request is opened, and the model fetches what it needs again. An SVG that moves by CSS
 * alone, in the colors of the reader's theme; whoever wants no motion sees its end.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { type Agent, ask, type Reply } from '../demo/client.ts';
import { billOfRun, paidSentence, type RunBill } from '../demo/run-bill.ts';
import { STRATEGIES } from '../demo/strategies.ts';
import { startDemoUpstream } from '../demo/upstream.ts';
import { askedLiteral, type Message, recording } from '../fixtures/recording.ts';
import { escaped } from '../src/lib/markup.ts';
import { startWorker } from './own-worker.ts';

const PATH = join(import.meta.dirname, '../docs/demo.svg');
const KEY = 'sk-demo-0123456789abcdefghij';
const CONVERSATION = 'demo';

/** What the picture shows of a run. */
interface Run {
  readonly replies: readonly Reply[];
  /** The first request that moved the frontier, from 1 on. */
  readonly opened: number;
  /** The largest output that it replaced: before and after. */
  readonly before: string;
  readonly after: string;
  readonly bill: RunBill;
}

async function play(): Promise<Run> {
  const upstream = await startDemoUpstream();
  const worker = await startWorker({
    PRECIS_SECRET: 'secret-of-the-demo-do-not-deploy',
    UPSTREAM_BASE_URL: upstream.url,
  });
  try {
    const client = new OpenAI({ baseURL: `${worker.url}/v1`, apiKey: KEY });
    const agent: Agent = {
      client,
      model: recording.model,
      tools: recording.tools,
      strategy: STRATEGIES.auto,
      conversation: CONVERSATION,
    };
    const points = recording.messages.flatMap(({ role }, at) => (role === 'assistant' ? [at] : []));
    const replies: Reply[] = [];
    for (const point of points) {
      const messages = recording.messages.slice(0, point);
      replies.push(await ask(agent, messages, replies.length % 2 === 1));
    }
    const at = replies.findIndex(({ frontier }) => frontier === 'moved');
    const sent = recording.messages.slice(0, points[at]);
    const bill = await billOfRun(worker.url, KEY, CONVERSATION);
    if (!bill) throw new Error('What the run has cost is not known.');
    return { replies, opened: at + 1, ...largestOf(sent, await viewOf(agent, sent)), bill };
  } finally {
    await worker.close();
    await upstream.close();
  }
}

/** What Precis sends instead of messages. */
async function viewOf({ client, model, tools, strategy }: Agent, messages: readonly Message[]) {
  const body = { model, messages, tools, memory_strategy: strategy, dry_run: true };
  return (await client.post<{ messages: Message[] }>('/compact', { body })).messages;
}

/** The largest output that a view has replaced, with what is there instead. */
function largestOf(messages: readonly Message[], view: readonly Message[]) {
  const outputs = messages.filter((message) => message.role === 'tool');
  const [largest] = outputs
    .flatMap(({ content: before, tool_call_id: id }) => {
      const shown = view.find((message) => message.role === 'tool' && message.tool_call_id === id);
      return shown?.content && shown.content !== before ? [{ before, after: shown.content }] : [];
    })
    .toSorted((one, other) => other.before.length - one.before.length);
  if (!largest) throw new Error('The first move has replaced no output.');
  return largest;
}

const WIDTH = 860;
const ROW = 12;
const TOP = 74;
/** Of the bar of the longest request. */
const BAR = 360;
const LEFT = 150;
const PANEL = { x: 404, y: 44, width: 440 };
/** Seconds. */
const ROWS_END = 6;
const OPENED = 7;
const FETCHED = 12;
const LENGTH = 18;
/** What a reader, or a still of the page, sees first: the run is over, and the fetch is open. */
const FIRST = 13;

const STYLE = `
svg { --paper: #fff; --ink: #1c1d1f; --quiet: #5c5f66; --rule: #dcdcd6; --sent: #1f5fbf; --gone: #c9d8ee; --panel: #f6f6f3; --found: #fff0b8; }
@media (prefers-color-scheme: dark) { svg { --paper: #141517; --ink: #e8e8e6; --quiet: #a5a8b0; --rule: #363940; --sent: #7db0ff; --gone: #2b3b54; --panel: #1f2125; --found: #5a4a10; } }
text { font: 11px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink); }
.quiet { fill: var(--quiet); }
.title { font: 600 14px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
.words { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
.sent { fill: var(--sent); } .gone { fill: var(--gone); }
.panel { fill: var(--panel); stroke: var(--rule); }
.mark { fill: var(--found); }
.paper { fill: var(--paper); stroke: var(--rule); }
`;

/** Everything of an animation: its keyframes, and the class that has them. */
class Timeline {
  private readonly rules: string[] = [];

  /** The class of what is shown from one second to another, or to the end of the picture. */
  shown(from: number, to = LENGTH - 0.5): string {
    const name = `a${this.rules.length}`;
    const at = (second: number): string => `${Math.round((second / LENGTH) * 1_000) / 10}%`;
    const end = to >= LENGTH - 0.5 ? '' : ` ${at(to)} { opacity: 1 } ${at(to + 0.3)}, 100% { opacity: 0 }`;
    this.rules.push(
      `@keyframes ${name} { 0%, ${at(from)} { opacity: 0 } ${at(from + 0.25)} { opacity: 1 }${end} }`,
      `.${name} { animation: ${name} ${LENGTH}s linear -${FIRST}s infinite }`,
    );
    return name;
  }

  css(): string {
    return this.rules.join('\n');
  }
}

const text = (x: number, y: number, words: string, style = '', anchor = ''): string =>
  `<text x="${x}" y="${y}"${style && ` class="${style}"`}${anchor && ` text-anchor="${anchor}"`}>${escaped(words)}</text>`;

const grouped = (value: number): string => value.toLocaleString('en-US');

/** The first lines of a text, of at most this many letters each. */
function wrapped(words: string, letters: number, most: number): string[] {
  const lines = words.match(new RegExp(`.{1,${letters}}(?=\\s|$)|\\S{${letters}}`, 'gu')) ?? [];
  const shown = lines.map((line) => line.trim()).slice(0, most);
  return lines.length > most ? [...shown.slice(0, -1), `${shown.at(-1)?.slice(0, letters - 2)} …`] : shown;
}

function draw(run: Run): string {
  const { replies, opened } = run;
  const timeline = new Timeline();
  const height = TOP + replies.length * ROW + 56;
  const total = (of: (reply: Reply) => number): string =>
    grouped(replies.reduce((sum, reply) => sum + of(reply), 0));
  const sums = `${total(({ tokensBefore }) => tokensBefore)} tokens in the arrays, ${total(({ tokensAfter }) => tokensAfter)} sent. ${paidSentence(run.bill)}`;
  const closing = `<g class="${timeline.shown(ROWS_END)}">${text(24, height - 22, sums, 'words')}</g>`;
  const parts = [table(run, timeline), openedPanel(run, timeline), fetchedPanel(run, timeline), closing];
  const desc = `${replies.length} requests of an agent. Request ${opened} is the first that Precis shortens. In all, ${sums}`;
  const about = `${replies.length} requests of a recorded agent, auto with a budget of ${grouped(STRATEGIES.auto.token_budget)}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>A run of the demo: what the agent sent, and what the model got</title>
<desc>${escaped(desc)}</desc>
<style>${STYLE}@media (prefers-reduced-motion: no-preference) {
${timeline.css()}
}
@media (prefers-reduced-motion: reduce) { .passing { display: none } }
</style>
<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8" class="paper"/>
${text(24, 30, 'npm run demo', 'title')}
${text(WIDTH - 24, 30, about, 'words quiet', 'end')}
${text(48, 58, '#', 'quiet', 'end')}${text(LEFT - 14, 58, 'tokens', 'quiet', 'end')}
<rect x="${LEFT}" y="50" width="10" height="8" class="sent"/>${text(LEFT + 16, 58, 'sent', 'quiet')}
<rect x="${LEFT + 60}" y="50" width="10" height="8" class="gone"/>${text(LEFT + 76, 58, 'removed', 'quiet')}
${parts.join('\n')}
</svg>
`;
}

function table({ replies, opened }: Run, timeline: Timeline): string {
  const longest = Math.max(...replies.map(({ tokensBefore }) => tokensBefore));
  const width = (tokens: number): number => Math.round((tokens / longest) * BAR);
  const rows = replies.map(({ tokensBefore, tokensAfter, frontier }, at) => {
    const y = TOP + at * ROW;
    const isOpen = at + 1 === opened && timeline.shown(OPENED - 0.7, FETCHED - 0.3);
    const isLast = at + 1 === replies.length && timeline.shown(FETCHED - 0.3);
    const lit = isOpen || isLast;
    const mark = lit
      ? `<rect x="16" y="${y - 1}" width="${WIDTH - 32}" height="${ROW}" class="mark ${lit}"/>`
      : '';
    return `${mark}<g class="${timeline.shown((at / replies.length) * ROWS_END)}">${text(48, y + 9, String(at + 1), 'quiet', 'end')}${text(LEFT - 14, y + 9, grouped(tokensBefore), '', 'end')}<rect x="${LEFT}" y="${y + 1}" width="${width(tokensBefore)}" height="${ROW - 3}" class="gone"/><rect x="${LEFT}" y="${y + 1}" width="${width(tokensAfter)}" height="${ROW - 3}" class="sent"/>${frontier === 'moved' ? text(LEFT + width(tokensBefore) + 8, y + 9, `edited: ${grouped(tokensAfter)}`, 'quiet') : ''}</g>`;
  });
  return rows.join('\n');
}

function panel(title: string, lines: readonly string[], style: string): string {
  const { x, y, width } = PANEL;
  return `<g class="${style}"><rect x="${x}" y="${y}" width="${width}" height="${44 + lines.length * 16}" rx="8" class="panel"/>
${text(x + 16, y + 25, title, 'title')}
${lines.join('\n')}</g>`;
}

/** What is left of the largest output. */
function openedPanel({ opened, before, after }: Run, timeline: Timeline): string {
  const { x, y } = PANEL;
  let row = 0;
  const line = (words: string, style = ''): string => text(x + 16, y + 48 + row++ * 16, words, style);
  const lines = [
    line('A tool output in the agent’s array:', 'words quiet'),
    ...wrapped(before.split('\n')[0] ?? '', 62, 2).map((one) => line(one)),
    line(
      `… ${grouped(before.split('\n').length - 1)} more lines, ${grouped(before.length)} characters`,
      'quiet',
    ),
    line(''),
    line('What the model gets instead, the same in each request:', 'words quiet'),
    ...wrapped(after, 62, 5).map((one) => line(one)),
  ];
  return panel(
    `Request ${opened}: what the model saw`,
    lines,
    `passing ${timeline.shown(OPENED, FETCHED - 0.3)}`,
  );
}

/** How the model gets it back. */
function fetchedPanel({ replies }: Run, timeline: Timeline): string {
  const { x, y } = PANEL;
  let row = 0;
  const line = (words: string, style = ''): string => text(x + 16, y + 48 + row++ * 16, words, style);
  const question = recording.messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const [ref = ''] = replies.at(-1)?.fetched.slice(-1) ?? [];
  const lines = [
    line('The user asks for something that left long ago:', 'words quiet'),
    ...wrapped(question, 62, 3).map((one) => line(one)),
    line(''),
    line('The model calls a tool, which Precis answers:', 'words quiet'),
    line(`retrieve_ref(“${ref.slice(0, 16)}…”)`),
    line(''),
    line('and replies, in the same response:', 'words quiet'),
    line(`trace id ${askedLiteral().literal}`),
  ];
  return panel(`Request ${replies.length}: nothing was lost`, lines, timeline.shown(FETCHED));
}

if (import.meta.main) {
  const svg = draw(await play());
  writeFileSync(PATH, svg);
  console.log(`${grouped(svg.length)} bytes in ${PATH}`);
}
