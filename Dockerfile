# The gateway as an image: docker build -t switchyard .  See docs/deploy.md.

FROM node:24-bookworm-slim AS build
# better-sqlite3 is compiled when its ready-made binding cannot be fetched.
RUN apt-get update \
  && apt-get install -y --no-install-recommends python3 make g++ \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY gen gen
COPY src src
RUN npm run build \
  && npm prune --omit=dev \
  && rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/build/Release/obj*

FROM node:24-bookworm-slim
ENV NODE_ENV=production
COPY --from=build /app/package.json /app/package.json
COPY --from=build /app/node_modules /app/node_modules
COPY --from=build /app/dist /app/dist
RUN ln -s /app/dist/main.js /usr/local/bin/switchyard \
  && install -d -o node -g node /data
USER node
# Tasks are kept in .switchyard/ of the working directory, and switchyard.yaml is read from it.
WORKDIR /data
VOLUME /data
EXPOSE 8080 50051
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["switchyard"]
CMD ["serve", "--http", "0.0.0.0:8080", "--grpc", "0.0.0.0:50051"]
