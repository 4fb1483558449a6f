/** Reads the open watermark codes of language models in texts, by the light scores of CTWL. */
export { unhex } from "./bytes.js";
export { Names } from "./names.js";
export { profileFromJson, publish } from "./profile.js";
export { readBy } from "./profiles.js";
export { ALPHA, MAX_CHARACTERS, MAX_TOKENS, Reader } from "./reader.js";
export { Refusal } from "./refusal.js";
export { joined, runJob } from "./search.js";
export { Tokenizer } from "./tokenizer.js";
