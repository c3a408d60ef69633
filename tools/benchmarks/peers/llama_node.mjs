// llama.cpp through node-llama-cpp, which has prebuilt libraries: `node llama_node.mjs ENVIRONMENT MODELS FOLDER`.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [environment, models, folder] = process.argv.slice(2);
const installed = `${environment}/node_modules/node-llama-cpp`;
const { getLlama } = await import(pathToFileURL(`${installed}/dist/index.js`).href);
const logger = (level, message) => console.error(level, message);
const llama = await getLlama({ gpu: false, build: "never", progressLogs: false, logLevel: process.env.LLAMA_LOG ?? "error", logger });
const options = { temperature: 0, yieldEogToken: true };
const SPARE = 8; // a full context has no room for what comes after it
const STRIDE = 7919; // as in workers.py
const contexts = new Map();

async function contextOf({ dtype, batch }) {
    const key = `${dtype} ${batch}`;
    if (!contexts.has(key)) {
        const model = await llama.loadModel({ modelPath: `${models}/gguf-${dtype}` });
        const threads = { ideal: llama.cpuMathCores, min: llama.cpuMathCores };
        const contextSize = model.trainContextSize + SPARE;
        const context = await model.createContext({ contextSize, sequences: batch, threads });
        const vocabulary = [...model.iterateAllTokens()].length;
        contexts.set(key, { vocabulary, sequences: Array.from({ length: batch }, () => context.getSequence()) });
    }
    return contexts.get(key);
}

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

const job = JSON.parse(readFileSync(`${folder}/job.json`, "utf8"));
const done = { seconds: [], shapes: [] };
for (const workload of job.workloads) {
    const rows = await run(workload, { logits: true });
    writeFileSync(`${folder}/${done.shapes.length}.raw`, Float32Array.from(rows.flat()));
    done.shapes.push([rows.length, rows[0].length]);
    let calls = 0;
    const start = performance.now();
    while (!calls || performance.now() - start < 1000 * job.turn) {
        await run(workload);
        calls++;
    }
    done.seconds.push((performance.now() - start) / 1000 / calls);
}
const { version } = JSON.parse(readFileSync(`${installed}/package.json`, "utf8"));
done.version = `llama.cpp ${llama.llamaCppRelease.release} in node-llama-cpp ${version}`;
done.threads = llama.cpuMathCores;
done.info = llama.systemInfo;
done.bytes = process.resourceUsage().maxRSS * 1024;
writeFileSync(`${folder}/node.json`, JSON.stringify(done));
console.error(done.threads, done.info);
process.exit();
