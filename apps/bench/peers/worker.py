"""A process that runs one model in one engine. `python -m peers.worker SPEC.json` or `... prepare SPEC.json`.

It reads requests as lines of JSON on standard input, and answers each with a line of JSON on standard output.
{"seconds": S} is a turn, which makes calls for at least S seconds. {"save": FILE} saves the output of the last turn's
last call, or of a new call if there was no turn.
"""
import json
import os
import sys
import time
import traceback
import warnings


def peak_mb():
    # getrusage() is used only without /proc, because it also counts the parent's memory at the fork.
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20)


def serve(spec, answer):
    import numpy as np

    from . import engines
    task = engines.TASKS[spec["task"]](spec)
    answer({"ready": True, "version": engines.version(spec["engine"])})
    result = None
    for line in sys.stdin:
        wanted = json.loads(line)
        if "save" in wanted:
            np.save(wanted["save"], task.call() if result is None else result)
            answer({"peak_mb": peak_mb()})
            continue
        times, end = [], time.perf_counter() + wanted["seconds"]
        while not times or time.perf_counter() < end:
            begin = time.perf_counter()
            result = task.call()
            times.append(time.perf_counter() - begin)
        answer({"times": times, "peak_mb": peak_mb()})


def main():
    # Libraries print to standard output, so answers get a separate descriptor and standard output goes to the log.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(value):
        out.write(json.dumps(value) + "\n")
        out.flush()

    warnings.filterwarnings("ignore")
    try:
        with open(sys.argv[-1], encoding="utf-8") as file:
            spec = json.load(file)
        if sys.argv[1] == "prepare":
            from . import prepare
            prepare.run(spec)
            answer({"ready": True})
        else:
            serve(spec, answer)
    except Exception as error:  # Engines raise exceptions of many classes. The traceback goes to the log.
        traceback.print_exc()
        text = str(error).strip().splitlines()
        answer({"error": f"{type(error).__name__}: {text[0]}" if text else type(error).__name__})
        return 1
    return 0


if __name__ == "__main__":
    # os._exit() skips the threads and destructors of engines, which may crash at the end of a process.
    status = main()
    sys.stderr.flush()
    os._exit(status)
