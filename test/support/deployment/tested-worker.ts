/**
 * The Worker as tests start it: one for many files, since a start takes a second of processor. Each
 * file gives it an environment of its own, and so everything that an isolate keeps in memory is
 * made anew. Only tests build this entry point: `src/index.ts` has no such route, so no other build
 * can have other variables or limits than its deployment's.
 */
import type { Env } from '../../../src/config.ts';
import * as worker from '../../../src/index.ts';
import { REGISTER } from '../../../src/storage/objects.ts';
import { restoreLimits, shorten } from '../time-limits.ts';
import { ENVIRONMENT_PATH, type Environment, SCHEDULED_PATH } from './environment.ts';

/** The names of objects that a deployment has once. All other names have a tenant's id in them. */
const SINGLE = new Set([REGISTER, 'metrics']);

let files = 0;
let ofFile: Env | undefined;
/** For objects: equal to `ofFile`, and without the memory of an isolate, which is kept for that. */
let ofNewObjects: Env | undefined;
/** By the ids of objects: they keep their file's, also when they wake up during another. */
const ofObjects = new Map<string, Env>();

function become({ vars, limits = {} }: Environment, env: Env): void {
  const file = ++files;
  const own = (objects: DurableObjectNamespace) => ownSingles(objects, file);
  const METRICS = env.METRICS && own(env.METRICS);
  ofFile = { ...env, ...vars, METRICS, TENANT_MEMORY: own(env.TENANT_MEMORY) };
  ofNewObjects = { ...ofFile };
  restoreLimits();
  shorten(limits);
}

/** The objects of a namespace, of which those that are single belong to one file. */
function ownSingles(objects: DurableObjectNamespace, file: number): DurableObjectNamespace {
  const idFromName = (name: string) => objects.idFromName(SINGLE.has(name) ? `${name} ${file}` : name);
  return { idFromName, get: (id: DurableObjectId) => objects.get(id) } as DurableObjectNamespace;
}

function ofObject({ id }: DurableObjectState, env: Env): Env {
  const known = ofObjects.get(id.toString()) ?? ofNewObjects ?? env;
  ofObjects.set(id.toString(), known);
  return known;
}

/** A class of objects that get the environment of a file. */
function inEnvironment<Class extends new (ctx: DurableObjectState, env: Env) => object>(of: Class): Class {
  return new Proxy(of, {
    construct: (target, [ctx, env], asked) => Reflect.construct(target, [ctx, ofObject(ctx, env)], asked),
  });
}

export const ConversationMemory = inEnvironment(worker.ConversationMemory);
export const Metrics = inEnvironment(worker.Metrics);
export const TenantMemory = inEnvironment(worker.TenantMemory);
export const UserMemory = inEnvironment(worker.UserMemory);

const { fetch, scheduled } = worker.default;
const at = (time: string | null) => ({ scheduledTime: Number(time) }) as ScheduledController;

export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === ENVIRONMENT_PATH) become(await request.json(), env);
    else if (pathname === SCHEDULED_PATH) await scheduled(at(searchParams.get('time')), ofFile ?? env);
    else return fetch(request, ofFile ?? env, ctx);
    return new Response(null, { status: 204 });
  },
} satisfies ExportedHandler<Env>;
