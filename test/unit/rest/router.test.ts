import { describe, expect, test } from "vitest";
import { createRouter } from "../../../src/bindings/rest/router.js";
import { parseTemplate } from "../../../src/bindings/rest/template.js";

function routerOf(templates: readonly string[]) {
  const router = createRouter<string>();
  for (const text of templates) {
    const { segments, verb } = parseTemplate(text);
    router.shape(segments, verb).methods.set("GET", text);
  }
  return (path: string) => router.find(path.slice(1).split("/"))?.methods.get("GET");
}

const TEMPLATES = [
  "/{any=**}",
  "/{tenant}/tasks",
  "/tasks",
  "/tasks/{id}",
  "/tasks/{id}:cancel",
  "/tasks/{id}/configs",
  "/tasks/fixed",
  "/tasks/fixed:cancel",
  "/{tenant}/message:send",
  "/files/{path=**}",
  "/files/{path=**}:stat",
  "/deep/*/x/{rest=**}",
  "/deep/a/y",
  "/only/{id}:verb",
];

describe("the router", () => {
  const found = [
    ["/tasks", "/tasks"],
    ["/acme/tasks", "/{tenant}/tasks"],
    ["/tasks/tasks", "/tasks/{id}"],
    ["/tasks/t1", "/tasks/{id}"],
    ["/tasks/fixed", "/tasks/fixed"],
    ["/tasks/t1:cancel", "/tasks/{id}:cancel"],
    ["/tasks/fixed:cancel", "/tasks/fixed:cancel"],
    ["/tasks/t1:other", "/tasks/{id}"],
    ["/tasks/fixed:other", "/tasks/{id}"],
    ["/tasks/a:b:cancel", "/tasks/{id}:cancel"],
    ["/tasks/a:", "/tasks/{id}"],
    ["/tasks/:", "/tasks/{id}"],
    ["/tasks/:other", "/tasks/{id}"],
    ["/tasks/message:send", "/tasks/{id}"],
    ["/acme/message:send", "/{tenant}/message:send"],
    ["/tasks/a:cancel/configs", "/tasks/{id}/configs"],
    ["/files", "/files/{path=**}"],
    ["/files/", "/files/{path=**}"],
    ["/files//", "/files/{path=**}"],
    ["/files:stat", "/files/{path=**}:stat"],
    ["/files/:stat", "/files/{path=**}:stat"],
    ["/files/a/b:stat", "/files/{path=**}:stat"],
    ["/files/a:stat/b", "/files/{path=**}"],
    ["/files/a:other", "/files/{path=**}"],
    ["/deep/a/y", "/deep/a/y"],
    ["/deep/a/x", "/deep/*/x/{rest=**}"],
    ["/deep/a/x/1/2", "/deep/*/x/{rest=**}"],
    // What no better shape takes falls to the one that takes anything.
    ["/", "/{any=**}"],
    ["/tasks/", "/{any=**}"],
    ["/tasks/:cancel", "/{any=**}"],
    ["//tasks", "/{any=**}"],
    ["/deep//x", "/{any=**}"],
    ["/only/x", "/{any=**}"],
    ["/TASKS", "/{any=**}"],
    ["/t%61sks", "/{any=**}"],
  ] as const;

  test.each(found)("%s is %s", (path, template) => {
    expect(routerOf(TEMPLATES)(path)).toBe(template);
  });

  test("does not depend on the order of declaration", () => {
    const forwards = routerOf(TEMPLATES);
    const backwards = routerOf([...TEMPLATES].reverse());
    for (const [path] of found) expect(backwards(path)).toBe(forwards(path));
  });

  test.each([
    ["/tasks/"],
    ["/tasks/:cancel"],
    ["//tasks"],
    ["/acme/tasks/"],
    ["/"],
    ["/tasks/t1/configs/"],
    ["/only/x"],
  ])("nothing is at %s when nothing takes anything", (path) => {
    expect(routerOf(TEMPLATES.slice(1))(path)).toBeUndefined();
  });

  test("looks at a number of places that does not grow with the number of routes", () => {
    const timeOf = (count: number) => {
      const templates = Array.from({ length: count }, (_, n) => `/r${n}/{id}/items/{item}:act`);
      const find = routerOf(templates);
      const paths = Array.from({ length: 2000 }, (_, n) => `/r${n % count}/a/items/b:act`);
      const rounds = Array.from({ length: 9 }, () => {
        const start = performance.now();
        const missed = paths.filter((path) => find(path) === undefined);
        const took = performance.now() - start;
        expect(missed).toEqual([]);
        return took;
      });
      return Math.min(...rounds);
    };
    // A scan would be a thousand times slower; the rest is what larger maps cost in cache misses.
    expect(timeOf(10_000)).toBeLessThan(20 * timeOf(10));
  });
});
