import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate and its private key, PEM. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

/** An authority that a test trusts for a day. */
export interface Authority {
  /** Its own certificate, PEM. */
  readonly cert: string;
  /** A certificate for `localhost` and 127.0.0.1. */
  readonly server: Identity;
  /** A certificate for a client. */
  readonly client: Identity;
}

const SERVER =
  "basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n";
const CLIENT = "basicConstraints=CA:FALSE\nextendedKeyUsage=clientAuth\n";

/** Makes an authority with the `openssl` program. */
export function createAuthority(name: string): Authority {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-ca-"));
  const openssl = (...args: readonly string[]) =>
    execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
  const request = (who: string) => [
    ...["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
    ...["-keyout", `${who}.key`, "-subj", `/CN=${who}`],
  ];
  const read = (file: string) => readFileSync(join(folder, file), "utf8");
  const issue = (who: string, extensions: string): Identity => {
    writeFileSync(join(folder, "extensions"), extensions);
    openssl(...request(who), "-out", "request");
    openssl(
      ...["x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", `${name}.key`, "-CAcreateserial"],
      ...["-days", "1", "-extfile", "extensions", "-out", "issued.pem"],
    );
    return { cert: read("issued.pem"), key: read(`${who}.key`) };
  };
  try {
    openssl(...request(name), "-x509", "-days", "1", "-out", "ca.pem");
    return { cert: read("ca.pem"), server: issue("server", SERVER), client: issue("client", CLIENT) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
