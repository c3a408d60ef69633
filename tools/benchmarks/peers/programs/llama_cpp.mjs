// llama.cpp through node-llama-cpp, which has prebuilt libraries: `node llama_cpp.mjs ENVIRONMENT FOLDER [WORKLOAD]`.
//
// It answers as tools/benchmarks/backends.py does, a line of JSON for each request. Prompts come from
// FOLDER/prompts.json, since they are random numbers of NumPy's. An output is a file of NumPy's: tokens of a text, or
// logits of the last token.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [environment, folder, once] = process.argv.slice(2);
const installed = join(environment, "node_modules", "node-llama-cpp");
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(join(installed, "dist", "index.js")).href);
const llama = await getLlama({
    gpu: false,
    build: "never",
    progressLogs: false,
    logLevel: LlamaLogLevel.error,
    logger: (level, message) => console.error(level, message), // what goes to the output is an answer
});
const threads = llama.cpuMathCores;
const greedy = { temperature: 0, yieldEogToken: true };

const SPARE = 8; // a full context has no room for what comes after it

const models = new Map();
const contexts = new Map();

/** Return the file of a model by how its matrices are kept: GGUF says F32 for float32. */
const fileOf = (dtype) => join(folder, `gguf-${dtype === "float32" ? "F32" : dtype}`);

/** Return the model whose matrices are kept as `dtype` says, loaded when it is first asked for. */
async function modelOf(dtype) {
    if (!models.has(dtype)) models.set(dtype, await llama.loadModel({ modelPath: fileOf(dtype) }));
    return models.get(dtype);
}

/** Return as many sequences of one context as a batch has, in each room for the longest text; all else is the default. */
async function sequencesOf({ dtype, batch }) {
    const key = `${dtype} ${batch}`;
    if (!contexts.has(key)) {
        const model = await modelOf(dtype);
        const context = await model.createContext({
            contextSize: model.trainContextSize + SPARE,
            sequences: batch,
            threads: { ideal: threads, min: threads },
        });
        contexts.set(key, Array.from({ length: batch }, () => context.getSequence()));
    }
    return contexts.get(key);
}

/** Write an array as NumPy does. */
function save(file, data, shape) {
    const type = data instanceof Float32Array ? "<f4" : "<i4";
    const words = `{'descr': '${type}', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`;
    const header = words.padEnd(Math.ceil((words.length + 11) / 64) * 64 - 11) + "\n";
    const head = Buffer.alloc(10);
    head.write("\x93NUMPY\x01\x00", "latin1");
    head.writeUInt16LE(header.length, 8);
    writeFileSync(file, Buffer.concat([head, Buffer.from(header), Buffer.from(data.buffer)]));
}

/** Return a workload as a function, its input in place, and one that saves what it returns. */
async function prepare(workload) {
    const { part, dtype, batch, length, new_tokens } = workload;
    const prompts = JSON.parse(readFileSync(join(folder, "prompts.json"), "utf8"))[`${batch} x ${length}`];
    const sequences = await sequencesOf(workload);
    const inAll = async (run) => {
        await Promise.all(sequences.map((sequence) => sequence.clearHistory()));
        return Promise.all(sequences.map((sequence, row) => run(sequence, prompts[row])));
    };
    const last = (wanted) => (sequence, prompt) =>
        sequence.controlledEvaluate([...prompt.slice(0, -1), [prompt.at(-1), { generateNext: { ...wanted, options: greedy } }]]);
    if (part === "forward") {
        const vocabulary = [...(await modelOf(dtype)).iterateAllTokens()].length;
        return {
            call: () => inAll(last({ token: true })),
            async read(file) {
                const rows = await inAll(last({ logits: true }));
                const data = new Float32Array(batch * vocabulary).fill(NaN);
                rows.forEach((answers, row) => {
                    for (const [token, logit] of answers[length - 1].next.logits) data[row * vocabulary + token] = logit;
                });
                save(file, data, [batch, 1, vocabulary]);
            },
        };
    }
    const write = async (sequence, prompt) => {
        const text = [];
        for await (const token of sequence.evaluate(prompt, greedy)) {
            text.push(token);
            if (text.length === new_tokens) break;
        }
        return text;
    };
    return {
        call: () => inAll(write),
        async read(file, texts) {
            save(file, Int32Array.from(texts.flat()), [batch, new_tokens]);
        },
    };
}

async function secondsPerCall(call, calls) {
    const start = performance.now();
    for (let at = 0; at < calls; at++) await call();
    return (performance.now() - start) / 1000 / calls;
}

const prepared = new Map();

async function answer(request) {
    if (request.do === "about") {
        const { version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
        return { version: `llama.cpp ${llama.llamaCppRelease.release} in node-llama-cpp ${version}` };
    }
    const key = JSON.stringify(request.workload);
    if (!prepared.has(key)) prepared.set(key, await prepare(request.workload));
    const { call, read } = prepared.get(key);
    if (request.do === "time") {
        if (request.calls > 1) await call(); // as in backends.py
        return { seconds: await secondsPerCall(call, request.calls) };
    }
    await read(request.file, await call());
    return { seconds: await secondsPerCall(call, 1) };
}

/** Return the most memory that this process ever had resident, in bytes. */
function peakBytes() {
    try {
        return Number(readFileSync("/proc/self/status", "utf8").match(/^VmHWM:\s+(\d+)/m)[1]) * 1024;
    } catch {
        return process.resourceUsage().maxRSS * (process.platform === "darwin" ? 1 : 1024);
    }
}

if (once) {
    await (await prepare(JSON.parse(once))).call();
    console.log(JSON.stringify({ peak: peakBytes() }));
    process.exit();
}
for await (const line of createInterface({ input: process.stdin })) {
    let said;
    try {
        said = await answer(JSON.parse(line));
    } catch (error) {
        said = { error: String(error).trim().slice(0, 600) };
    }
    console.log(JSON.stringify(said));
}
process.exit();
