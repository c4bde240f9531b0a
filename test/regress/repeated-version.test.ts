import { describe, expect, it } from "vitest";
import { negotiateVersion } from "../../src/protocol/version.js";

const negotiate = (header: string) =>
  negotiateVersion({ header, query: undefined, implied: undefined, assumed: undefined }, ["1.0"]);

describe("an A2A-Version header that came several times", () => {
  it.each(["1.0, 1.0", "1.0,1.0.1", " 1.0 , 1.0 , 1.0 "])("is one version in %j", (header) => {
    expect(negotiate(header)).toBe("1.0");
  });

  it.each(["1.0, 0.3", "0.3, 1.0", "1.0,", ",1.0", "1.0, 1"])("is refused in %j", (header) => {
    expect(() => negotiate(header)).toThrow("This protocol version is not supported");
  });
});
