import { describe, expect, it } from "vitest";
import { publicAddresses } from "../../../src/core/addresses.js";

const http = { address: "127.0.0.1", port: 8080 };
const grpc = { address: "127.0.0.1", port: 50051 };

describe("S0-02 the addresses that cards name", () => {
  it("are those that the ports listen on", () => {
    expect(publicAddresses({ http, grpc, tls: false })).toEqual({
      url: "http://127.0.0.1:8080",
      grpc: "127.0.0.1:50051",
    });
    expect(publicAddresses({ http, tls: true })).toEqual({ url: "https://127.0.0.1:8080" });
  });

  it("show a wildcard as the loopback and IPv6 in brackets", () => {
    const wide = { http: { address: "::", port: 1 }, grpc: { address: "0.0.0.0", port: 2 }, tls: false };
    expect(publicAddresses(wide)).toEqual({ url: "http://[::1]:1", grpc: "127.0.0.1:2" });
    expect(publicAddresses({ http: { address: "fe80::1", port: 1 }, tls: false }).url).toBe(
      "http://[fe80::1]:1",
    );
  });

  it("are the configured ones before all", () => {
    const publicUrl = "https://agents.example.com/a2a";
    expect(publicAddresses({ http, grpc, tls: false }, { publicUrl })).toEqual({
      url: publicUrl,
      grpc: "agents.example.com:50051",
    });
    expect(
      publicAddresses({ http, grpc, tls: false }, { publicUrl, publicGrpc: "rpc.example.com:443" }).grpc,
    ).toBe("rpc.example.com:443");
  });
});
