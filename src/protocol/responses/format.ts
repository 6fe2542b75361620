/** The answers of the Responses API. */

import { asObject, isObject } from '../../lib/json.ts';
import type { AnswerFormat } from '../answers/answer-format.ts';
import type { Frame } from '../answers/sse.ts';
import { type Begun, FirstFrames } from '../answers/stream-beginning.ts';
import { isCarried } from '../held-media.ts';
import { topFieldsOf } from '../top-fields.ts';
import { answerText, StreamedResponse } from './answer-text.ts';
import { goOnResponses } from './calls.ts';
import { JoinedResponsesBodies } from './joined-bodies.ts';
import { JoinedResponsesStreams } from './joined-streams.ts';
import { isError, ResponsesStream } from './stream.ts';
import { OPENS } from './stream-items.ts';

/** Events that open a response, and events of unknown types, decide nothing. */
function begunBy({ data = '', json }: Frame): Begun {
  const { type, response } = asObject(json);
  if (isError(json)) return { error: data };
  if (type === 'response.failed') return { error: JSON.stringify({ error: asObject(response).error }) };
  const answers = typeof type === 'string' && type.startsWith('response.') && !OPENS.has(type);
  return answers ? 'answers' : 'opens';
}

export const responsesFormat: AnswerFormat = {
  name: 'responses',
  stream: (report, reword, form) => new ResponsesStream(report, reword, form),
  begin: () => new FirstFrames(begunBy),
  gather: () => new StreamedResponse(),
  text: answerText,
  hasFailed: (body) => {
    const fields = topFieldsOf(body, ['status', 'error']);
    const status = fields?.get('status');
    return status === 'failed' || (status === undefined && isObject(fields?.get('error')));
  },
  joinStreams: (...joining) => new JoinedResponsesStreams(...joining),
  joinBodies: (...joining) => new JoinedResponsesBodies(...joining),
  goOn: goOnResponses,
  carries: isCarried,
};
