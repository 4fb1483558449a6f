/** 4.4 The published profiles, read from the documents that are published with the reference. */
import { readFileSync } from "node:fs";
import { publish, PUBLISHED } from "../../../packages/ctwl-web/src/profile.js";

const FOLDER = new URL("../../../packages/ctwl-protocol/src/ctwl_protocol/profile/published/", import.meta.url);

/** The toy profiles, which need no language model. */
export const TOYS = ["org.ctwl.toy.1", "org.ctwl.toy.2"];

for (const name of ["org.ctwl.gpt2.1", "org.ctwl.smollm2-135m.1", ...TOYS]) {
  publish(JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8")), { hasTwin: !TOYS.includes(name) });
}

export { PUBLISHED };
