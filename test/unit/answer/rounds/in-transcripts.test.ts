import { describe, expect, it } from 'vitest';
import { findInTranscripts, type Output } from '../../../../src/answer/rounds/listed-refs.ts';

/** The output of a call of the tool of these transcripts. */
const output = (n: number, text = `The output ${n}.`): Output => ({
  role: 'tool',
  tool: { name: 'search', id: `call_${n}` },
  text,
});

const refOf = (n: number) => `ref_${String.fromCharCode(97 + n).repeat(26)}`;

/** A transcript that names the one before it. */
function transcript(n: number, body: string): string {
  const link = n === 0 ? '' : `What stood before them is kept under ${refOf(n - 1)}.\n`;
  return `Messages ${n}-${n} of a conversation, unchanged.\n${link}\n### ${n} tool search (call_${n})\n${body}\n`;
}

function shelf(contents: ReadonlyMap<string, string>) {
  const read: string[] = [];
  const open = async (ref: string) => {
    read.push(ref);
    return contents.get(ref);
  };
  return { read, open };
}

describe('outputs in transcripts', () => {
  const chain = (length: number) =>
    new Map(Array.from({ length }, (_, n) => [refOf(n), transcript(n, `The output ${n}.`)]));

  it('are found in the transcript that holds them, through those after it', async () => {
    const { read, open } = shelf(chain(4));
    const found = await findInTranscripts([output(1), output(3)], [refOf(3)], open);
    expect([...found]).toEqual([
      [output(3), refOf(3)],
      [output(1), refOf(1)],
    ]);
    expect(read).toEqual([refOf(3), refOf(2), refOf(1)]);
  });

  it('are distinguished from others that begin alike', async () => {
    const bodies = ['{\n  "id": 1\n}', '{\n  "id": 2\n}', 'ok'];
    const { open } = shelf(new Map(bodies.map((body, n) => [refOf(n), transcript(n, body)])));
    const looked = [output(0, bodies[0]), output(1, bodies[1]), output(7, 'ok'), output(2, 'o')];
    const found = await findInTranscripts(looked, [refOf(2)], open);
    expect([0, 1, 2].map((n) => found.get(looked[n] as Output))).toEqual([refOf(0), refOf(1), undefined]);
  });

  it('are not looked for where a link is not in the head', async () => {
    const body = `What stood before them is kept under ${refOf(0)}.`;
    const { read, open } = shelf(new Map([[refOf(1), transcript(0, body)], ...chain(1)]));
    expect([...(await findInTranscripts([output(0)], [refOf(1)], open))]).toEqual([]);
    expect(read).toEqual([refOf(1)]);
  });

  it('are given up after eight transcripts, and where one is gone or names itself', async () => {
    const long = shelf(chain(12));
    expect((await findInTranscripts([output(0)], [refOf(11)], long.open)).size).toBe(0);
    expect(long.read).toHaveLength(8);
    const gone = shelf(new Map([[refOf(2), transcript(2, 'x')]]));
    expect((await findInTranscripts([output(0)], [refOf(2)], gone.open)).size).toBe(0);
    const own = shelf(new Map([[refOf(0), transcript(1, 'x')]]));
    expect((await findInTranscripts([output(0)], [refOf(0)], own.open)).size).toBe(0);
    expect(own.read).toHaveLength(1);
  });

  it('of no text are nowhere, and nothing is read for them', async () => {
    const { read, open } = shelf(chain(1));
    expect((await findInTranscripts([output(0, ''), output(0, ' \n')], [refOf(0)], open)).size).toBe(0);
    expect(read).toEqual([]);
  });
});
