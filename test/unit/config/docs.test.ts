import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CONFIG_DOCS, fileOf } from "../../../scripts/config-docs.js";
import { editorSchema } from "../../../src/config/editor-schema.js";
import { SETTINGS } from "../../../src/config/settings.js";

describe("documents made from the configuration's schema", () => {
  it.each([...CONFIG_DOCS])("%s is fresh; `make generate` writes it", (path, content) => {
    expect(readFileSync(fileOf(path), "utf8")).toBe(content);
  });

  it("explain every setting", () => {
    expect(SETTINGS.filter(({ schema }) => schema.description === undefined)).toEqual([]);
    const page = CONFIG_DOCS.get("docs/configuration.md") ?? "";
    for (const { path, environment } of SETTINGS) {
      expect(page).toContain(`\`${path.at(-1)}\``);
      if (environment !== undefined) expect(page).toContain(`\`${environment}\``);
    }
  });

  it("offer shorthands and files to editors, and none of our own marks", () => {
    const schema = editorSchema();
    expect(schema.properties?.store?.anyOf?.[0]).toEqual({ type: "string" });
    expect(schema.properties?.tls?.properties).toHaveProperty("keyFile");
    expect(schema.properties?.tls?.required).toEqual([]);
    expect(JSON.stringify(schema)).not.toMatch(/"(path|words|fromFile)":(true|\[)/);
  });

  it("gives each setting a variable of its own", () => {
    const variables = SETTINGS.flatMap(({ environment }) => environment ?? []);
    expect(new Set(variables).size).toBe(variables.length);
  });
});
