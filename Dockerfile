# Precis on workerd with its own storage: docs/operating.md has what it can and what it can't.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY . .
RUN npm ci && node tools/self-host.ts --build dist/worker

FROM node:24-bookworm-slim
# workerd checks the certificates of upstreams.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build --chown=root:root /app/package.json ./
COPY --from=build --chown=root:root /app/node_modules ./node_modules
COPY --from=build --chown=root:root /app/src ./src
COPY --from=build --chown=root:root /app/tools ./tools
COPY --from=build --chown=root:root /app/dist ./dist
RUN mkdir /data && chown node:node /data
USER node
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8787 DATA_DIR=/data
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "tools/self-host.ts", "--built", "dist/worker"]
