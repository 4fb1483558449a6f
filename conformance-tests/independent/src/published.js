/** 4.4 The published profiles, read from the documents that are published with the reference. */
import { readFileSync } from "node:fs";
import { publish, PUBLISHED } from "../../../packages/ctwl-web/src/profile.js";

const FOLDER = new URL("../../../packages/ctwl-protocol/src/ctwl_protocol/profile/published/", import.meta.url);

for (const [name, hasTwin] of [["org.ctwl.gpt2.1", true], ["org.ctwl.smollm2-135m.1", true], ["org.ctwl.toy.1", false]]) {
  publish(JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8")), { hasTwin });
}

export { PUBLISHED };
