"""Reading memory by threads of Mojo: the fastest of some reads. Batch: threads; length: log2 of how many numbers."""

import ctypes
import json
import sys
import time
from pathlib import Path

import numpy as np

from checker.mojo.library import shared_library
from tools.benchmarks.workers import DONE, JOB, OUTPUTS

SOURCE = Path(__file__).parents[1] / "reading.mojo"
READS = 16

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    job = json.loads((folder / JOB).read_text())
    read = ctypes.CDLL(str(shared_library({SOURCE.name: SOURCE.read_text()}, SOURCE.name, "a reader"))).read
    outputs, all_seconds = [], []
    for workload in job["workloads"]:
        numbers, threads = 1 << workload["length"], workload["batch"]
        array = np.ones(numbers, np.float32)
        sums, seconds = np.zeros(threads, np.float32), []
        for _ in range(READS if job["turn"] > 0.1 else 3):
            start = time.perf_counter()
            read(*map(ctypes.c_int64, (array.ctypes.data, numbers, threads, sums.ctypes.data)))
            seconds.append(time.perf_counter() - start)
        print(threads, numbers, sums, [round(array.nbytes / s / 1e9, 1) for s in seconds], file=sys.stderr)
        outputs.append(sums)
        all_seconds.append(min(seconds))
        del array
    np.savez(folder / OUTPUTS, *outputs)
    (folder / DONE).write_text(json.dumps({"version": "Mojo", "seconds": all_seconds, "bytes": 0}))
