import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createFileWatch, type FileWatch } from "../../../src/cli/file-watch.js";

let folder: string;
let watch: FileWatch;
const onChange = vi.fn();
const onFault = vi.fn();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-watch-"));
  onChange.mockReset();
  onFault.mockReset();
  watch = createFileWatch({ onChange, onFault, quietMs: 20 });
});
afterEach(() => {
  watch.close();
  rmSync(folder, { recursive: true });
});

function write(name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

const told = (times: number) =>
  vi.waitFor(() => expect(onChange).toHaveBeenCalledTimes(times), { timeout: 5000 });

describe("file watch", () => {
  it("tells of a file that is written, and of several steps once", async () => {
    const file = write("a.yaml", "1");
    watch.follow([file]);
    write("a.yaml", "22");
    write("a.yaml", "333");
    await told(1);
    write("a.yaml", "4444");
    await told(2);
  });

  it("tells of a file that is replaced, removed and made again", async () => {
    const file = write("a.yaml", "1");
    watch.follow([file]);
    renameSync(write("a.yaml.tmp", "2"), file);
    await told(1);
    rmSync(file);
    await told(2);
    write("a.yaml", "3");
    await told(3);
  });

  it("tells when a link above the file is exchanged", async () => {
    for (const version of ["v1", "v2"]) {
      mkdirSync(join(folder, version));
      write(`${version}/a.yaml`, version);
    }
    symlinkSync("v1", join(folder, "current"));
    symlinkSync("current/a.yaml", join(folder, "a.yaml"));
    watch.follow([join(folder, "a.yaml")]);
    symlinkSync("v2", join(folder, "next"));
    renameSync(join(folder, "next"), join(folder, "current"));
    await told(1);
  });

  it("says nothing about other files, nor about those it follows no more", async () => {
    const old = write("old.yaml", "1");
    const file = write("a.yaml", "1");
    watch.follow([old]);
    watch.follow([file]);
    write("other.yaml", "1");
    write("old.yaml", "22");
    utimesSync(file, new Date(0), new Date(0));
    await told(1);
  });

  it("reports a folder that is not there, and follows the others", async () => {
    const file = write("a.yaml", "1");
    watch.follow([join(folder, "none", "b.yaml"), file]);
    expect(onFault).toHaveBeenCalledTimes(1);
    write("a.yaml", "22");
    await told(1);
  });
});
