// llama.cpp through node-llama-cpp, which has prebuilt libraries: `node llama_cpp.mjs ENVIRONMENT CHECKPOINT`.
// It answers as tools/benchmarks/workers.py does: its version, then a line of JSON for each request.

import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [environment, checkpoint] = process.argv.slice(2);
const installed = `${environment}/node_modules/node-llama-cpp`;
const { getLlama } = await import(pathToFileURL(`${installed}/dist/index.js`).href);
const logger = (level, message) => console.error(level, message); // what goes to the output is an answer
const llama = await getLlama({ gpu: false, build: "never", progressLogs: false, logLevel: "error", logger });
const options = { temperature: 0, yieldEogToken: true };
const SPARE = 8; // a full context has no room for what comes after it
const STRIDE = 7919; // as in workers.py
const contexts = new Map();

/** Return a context: its vocabulary, and as many sequences as a batch has, each with room for the longest text. */
async function contextOf({ dtype, batch }) {
    const key = `${dtype} ${batch}`;
    if (!contexts.has(key)) {
        const model = await llama.loadModel({ modelPath: `${checkpoint}/../gguf-${dtype}` });
        const threads = { ideal: llama.cpuMathCores, min: llama.cpuMathCores };
        const contextSize = model.trainContextSize + SPARE;
        const context = await model.createContext({ contextSize, sequences: batch, threads });
        const vocabulary = [...model.iterateAllTokens()].length;
        contexts.set(key, { vocabulary, sequences: Array.from({ length: batch }, () => context.getSequence()) });
    }
    return contexts.get(key);
}

/** Run a workload; return for each sequence its new tokens or, where `wanted` says so, the logits of the last token. */
async function run(workload, wanted = { token: true }) {
    const { vocabulary, sequences } = await contextOf(workload);
    const { part, length, new_tokens } = workload;
    await Promise.all(sequences.map((sequence) => sequence.clearHistory()));
    const each = async (sequence, row) => {
        const prompt = Array.from({ length }, (_, at) => ((row * length + at) * STRIDE) % vocabulary);
        if (part === "forward") {
            const last = [prompt.pop(), { generateNext: { ...wanted, options } }];
            const { next } = (await sequence.controlledEvaluate([...prompt, last])).at(-1);
            const logits = (_, token) => next.logits.get(token);
            return next.logits ? Array.from({ length: vocabulary }, logits) : [next.token];
        }
        const text = [];
        for await (const token of sequence.evaluate(prompt, options)) {
            if (text.push(token) === new_tokens) return text;
        }
    };
    return Promise.all(sequences.map(each));
}

/** Answer a request; nothing is kept that could be forgotten. */
async function answer({ do: what, workload, calls = 1, file }) {
    if (what === "forget") return {};
    if (what === "output") {
        const rows = await run(workload, { logits: true });
        writeFileSync(file, Float32Array.from(rows.flat()));
        return { shape: [rows.length, rows[0].length], ...(await answer({ do: "time", workload })) };
    }
    if (calls > 1) await run(workload); // as in workers.py
    const start = performance.now();
    for (let at = 0; at < calls; at++) await run(workload);
    return { seconds: (performance.now() - start) / 1000 / calls };
}

const { version } = JSON.parse(readFileSync(`${installed}/package.json`, "utf8"));
console.log(`llama.cpp ${llama.llamaCppRelease.release} in node-llama-cpp ${version}`);
for await (const line of createInterface({ input: process.stdin })) {
    const reply = await answer(JSON.parse(line)).catch((error) => ({ error: String(error).trim().slice(0, 600) }));
    console.log(JSON.stringify(reply));
}
process.exit();
