import { createConnectClient } from "./connect.js";
import { createConnectJsonClient } from "./connect-json.js";
import { createGrpcClient } from "./grpc.js";
import { createJsonRpcClient } from "./jsonrpc.js";
import { createRestClient } from "./rest.js";
import type { Wire } from "./wire.js";

export type {
  Answer,
  AskOptions,
  NeutralError,
  Step,
  Wire,
  WireAddresses,
  WireClient,
  WireStream,
} from "./wire.js";

/** Every way to reach a gateway: wire × HTTP version. The first is the one that others are compared with. */
export const WIRES: readonly Wire[] = [
  { name: "grpc", tags: ["protobuf", "rpc"], connect: ({ grpc }) => createGrpcClient(grpc) },
  {
    name: "grpc on the HTTP port",
    tags: ["protobuf", "rpc"],
    connect: ({ http }) => createGrpcClient(http),
  },
  ...([1, 2] as const).flatMap(overHttp),
];

function overHttp(version: 1 | 2): Wire[] {
  const suffix = version === 1 ? "HTTP/1.1" : "HTTP/2";
  return [
    {
      name: `grpc-web ${suffix}`,
      tags: ["protobuf", "rpc"],
      connect: ({ http }) => createConnectClient(http, { protocol: "grpc-web", httpVersion: version }),
    },
    {
      name: `connect ${suffix}`,
      tags: ["protobuf", "rpc"],
      connect: ({ http }) => createConnectClient(http, { protocol: "connect", httpVersion: version }),
    },
    {
      name: `connect-json ${suffix}`,
      tags: ["json", "rpc"],
      connect: ({ http }) => createConnectJsonClient(http, version),
    },
    {
      name: `jsonrpc ${suffix}`,
      tags: ["json", "jsonrpc"],
      connect: ({ http }) => createJsonRpcClient(http, version),
    },
    {
      name: `rest ${suffix}`,
      tags: ["json", "rest"],
      connect: ({ http }) => createRestClient(http, version),
    },
  ];
}
