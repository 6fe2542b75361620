declare namespace Cloudflare {
  interface Env {
    readonly REFS: R2Bucket;
    readonly CONVERSATION_MEMORY: DurableObjectNamespace;
    readonly USER_MEMORY: DurableObjectNamespace;
    readonly TENANT_MEMORY: DurableObjectNamespace;
    readonly METRICS: DurableObjectNamespace;
    readonly PRECIS_SECRET: string;
    readonly UPSTREAM_BASE_URL: string;
  }
}
