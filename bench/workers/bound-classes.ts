/** The classes that wrangler.toml binds. Wrangler starts no Worker without them. */
import { DurableObject } from 'cloudflare:workers';

export class ConversationMemory extends DurableObject {}
export class UserMemory extends DurableObject {}
export class TenantMemory extends DurableObject {}
export class Metrics extends DurableObject {}
