/** Data stored by version 0.8.0 is read, used and deleted. The tests run in order, on one state. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { DEFAULT_ANSWER } from '../../../tools/upstream/behaviours.ts';
import { assistant } from '../../support/conversations/chat.ts';
import { settingsOf } from '../../support/deployment/conversation-settings.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { type Message, readSummary } from '../../support/deployment/summarizer.ts';

interface Request {
  readonly messages: Message[];
  readonly [field: string]: unknown;
}

interface Summary {
  readonly text: string;
  readonly ref: string;
  readonly prefix_hash: string;
  readonly memory_id: number;
  readonly usage: object;
}

interface Recorded {
  readonly kept: Request;
  readonly refs: Record<string, string>;
  readonly summed: { readonly request: Request; readonly summary: Summary };
  readonly unnamed: { readonly request: Request; readonly summary: Summary };
  readonly injected: { readonly request: Request; readonly injection: string };
  readonly rolling: { readonly messages: Message[]; readonly strategy: object };
  /** The output of a compaction: user messages, and the item. */
  readonly item: object[];
  readonly block: object;
  /** The events of the conversation `kept`. */
  readonly requests: readonly { readonly captured: boolean }[];
  readonly overviews: Record<'kept' | 'summed' | 'rolling', { readonly conversation_memory: string }>;
}

const fixture = join(import.meta.dirname, '../../fixtures/state-0.8.0');
const recorded: Recorded = JSON.parse(await readFile(join(fixture, 'recorded.json'), 'utf8'));
const state = await mkdtemp(join(tmpdir(), 'precis-state-'));
await promisify(execFile)('tar', ['-xzf', join(fixture, 'state.tar.gz'), '-C', state]);

// Hooks run in reverse order: the Worker is closed before its state is removed.
afterAll(() => rm(state, { recursive: true, force: true }));
const deployment = deploy({ summarizer: true, state });
const memory = settingsOf(deployment);

const { kept, refs } = recorded;

async function textOf(path: string): Promise<string> {
  const response = await deployment.fetch(path);
  expect(response.status).toBe(200);
  return response.text();
}

describe('what 0.8.0 has stored', () => {
  it.each(Object.keys(recorded.overviews) as (keyof Recorded['overviews'])[])(
    'the memory of the conversation %s is listed as it was, and can be put back',
    async (id) => {
      const query = id === 'kept' ? '' : '?user=alice';
      const overview = JSON.parse(await textOf(`/v1/conversations/${id}/memory${query}`));

      expect(overview).toEqual(recorded.overviews[id]);
      const put = await deployment.fetch(`/v1/conversations/${id}/memory${query}`, {
        method: 'PUT',
        body: JSON.stringify(overview),
      });
      expect(await put.json()).toEqual({ ...overview, rounds: [] });
    },
  );

  it('contents are fetched by their refs', async () => {
    expect(Object.keys(refs)).toHaveLength(4);
    for (const [ref, text] of Object.entries(refs)) expect(await textOf(`/v1/refs/${ref}`)).toBe(text);
  });

  it('the archive is read and searched', async () => {
    const archive = JSON.parse(await textOf('/v1/conversations/kept/messages'));
    const found = JSON.parse(await textOf('/v1/conversations/kept/messages?q=harbour'));

    const messages = archive.data.map(({ message }: { message: object }) => message);
    expect(messages).toEqual([...kept.messages, assistant(DEFAULT_ANSWER.content)]);
    expect(found.data.map(({ message }: { message: object }) => message)).toEqual([kept.messages.at(-1)]);
  });

  it('its requests are listed with what they have cost', async () => {
    const listed = JSON.parse(await textOf('/v1/conversations/kept/requests'));

    expect(listed.data).toMatchObject(recorded.requests.map(({ captured: _, ...run }) => run));
  });

  it('a memory block is read', async () => {
    expect(JSON.parse(await textOf('/v1/blocks/scales'))).toMatchObject(recorded.block);
  });

  it('the settings of a conversation choose the strategy', async () => {
    const { memory: report } = await deployment.ask(kept);

    expect(report).toMatchObject({ mode: 'compact', source: 'conversation' });
    expect(report.refs).toHaveLength(4);
  });

  it('a text that was frozen for a conversation is injected again', async () => {
    const { seen } = await deployment.ask(recorded.injected.request);

    expect(seen.body.messages[0].content).toBe(recorded.injected.injection);
  });
});

describe.each(['summed', 'unnamed'] as const)('the summary of the conversation %s', (name) => {
  it('is used again, with its transcript, and no other is made', async () => {
    const { request, summary } = recorded[name];

    const { memory: report, seen } = await deployment.ask(request);

    const { usage: _, ...same } = summary;
    expect(report.summary).toMatchObject(same);
    expect(readSummary(seen.body.messages[2].content)).toMatchObject({
      ref: summary.ref,
      text: summary.text,
    });
    expect(deployment.summarizer.requests).toEqual([]);
    expect(await textOf(`/v1/refs/${summary.ref}`)).toContain(request.messages[1]?.content);
  });
});

describe('the memory of a rolling conversation', () => {
  it('is shown in the next round', async () => {
    const { messages, strategy } = recorded.rolling;
    const fields = { conversation_id: 'rolling', user: 'alice', memory_strategy: strategy };

    const { memory: report, seen } = await deployment.ask({ ...fields, messages });

    const { conversation_memory: text } = recorded.overviews.rolling;
    expect(report.summary).toMatchObject({ text, status: 'completed', memory_id: 1 });
    expect(JSON.stringify(seen.body.messages)).toContain(JSON.stringify(text).slice(1, -1));
  });
});

describe('a compaction item', () => {
  it('is opened when it comes back', async () => {
    const input = [...recorded.item, { type: 'message', role: 'user', content: 'And now?' }];

    const response = await deployment.postTo('/v1/responses', { model: 'gpt-4.1', input });

    expect(response.status).toBe(200);
    const sent = JSON.stringify(deployment.lastChat().body);
    expect(sent).toContain('<session_summary');
    expect(sent).not.toContain('precis1_');
  });
});

describe('deleting what 0.8.0 has stored', () => {
  it('a conversation goes with its contents and its archive, and no other does', async () => {
    const response = await memory('kept', { method: 'DELETE' });

    expect(response.status).toBe(200);
    for (const ref of Object.keys(refs)) expect((await deployment.fetch(`/v1/refs/${ref}`)).status).toBe(404);
    expect((await deployment.fetch('/v1/conversations/kept/messages')).status).toBe(404);
    expect((await deployment.fetch(`/v1/refs/${recorded.summed.summary.ref}`)).status).toBe(200);
  });
});
