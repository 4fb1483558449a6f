/** The threads that read: made anew when a reading was stopped. */
export class Threads {
  /**
   * @param make makes a worker that runs worker.js
   * @param data the page's data: the profiles, their tokenizers, the registry
   * @param hear called with what the reader says: `{ready}`, `{early}`, `{progress}`, `{report}`, `{refused}`
   */
  constructor(make, data, hear) {
    Object.assign(this, { make, data, hear });
    this.begin();
  }

  begin() {
    const { make, hear } = this;
    const { profiles, root, registry, examples } = this.data;
    const threads = Math.max(1, Math.min(8, navigator.hardwareConcurrency || 1));
    const [reader, ...others] = Array.from({ length: threads }, make);
    this.workers = [reader, ...others];
    for (const worker of this.workers) worker.onerror = () => hear({ refused: "internal-error" });
    reader.onmessage = ({ data: answer }) => hear(answer);
    for (const worker of others) {
      const { port1, port2 } = new MessageChannel();
      worker.postMessage({ help: port1 }, [port1]);
      reader.postMessage({ helper: port2 }, [port2]);
    }
    reader.postMessage({ begin: { profiles, root, registry, sample: examples.human } });
  }

  read(text) {
    this.workers[0].postMessage({ read: text });
  }

  /** Takes back what was asked; `{ready}` follows. */
  stop() {
    for (const worker of this.workers) worker.terminate();
    this.begin();
  }
}

/** Whether this browser has what the threads need. */
export const canRead = () => ![globalThis.DecompressionStream, globalThis.WebAssembly, String.prototype.isWellFormed].includes(undefined);
