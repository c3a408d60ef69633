"""llama.cpp through node-llama-cpp: starts the program, and puts what it leaves in the form of the others."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from tools.benchmarks.formats import place
from tools.benchmarks.workers import DONE, JOB, OUTPUTS

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    job = json.loads((folder / JOB).read_text())
    models = place(Path(job["checkpoint"]), "x").parent
    program = Path(__file__).with_name("llama_node.mjs")
    subprocess.run(["node", str(program), ".peers/node", str(models), str(folder)], check=True)
    done = json.loads((folder / "node.json").read_text())
    arrays = []
    for number, shape in enumerate(done["shapes"]):
        arrays.append(np.fromfile(folder / f"{number}.raw", "<f4").reshape(shape))
    np.savez(folder / OUTPUTS, *arrays)
    (folder / DONE).write_text(
        json.dumps({"version": done["version"], "seconds": done["seconds"], "bytes": done["bytes"]})
    )
