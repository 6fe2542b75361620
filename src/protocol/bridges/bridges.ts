/** The bridges, by the API that they lead to. */
import type { Bridge, BridgedApi } from './bridge.ts';
import { messagesBridge } from './messages/body.ts';
import { responsesBridge } from './responses/body.ts';

export const BRIDGES: Readonly<Record<BridgedApi, Bridge>> = {
  responses: responsesBridge,
  messages: messagesBridge,
};
