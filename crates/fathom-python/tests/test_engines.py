"""What works with other packages: executors, MPI, simulators of caches; `tests/python.rs` runs each class where its engine is installed."""

import glob
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from fathomfs import Model, Trace

JOBS = {"reads": {"rw": "randread", "size": "1m", "direct": True, "ioengine": "libaio"}}
GRID = {"readahead": ["128K", "1M"], "bs": ["4k", "16k", "64k"], "iodepth": [1, 8]}


def kept(folder):
    """When each cell was written to a folder, and not what a process is writing there."""
    cells = glob.glob(os.path.join(folder, "cells", "*.json"))
    return {os.path.basename(cell): os.stat(cell).st_mtime_ns for cell in cells}


def whole(draws=3):
    """The sweep in a process of its own: threads of this one may fork later."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        return Model.assumed().sweep(GRID, JOBS, executor, draws=draws)


class Processes(unittest.TestCase):
    def test_a_killed_worker_costs_its_own_cell(self):
        expected = whole()
        with tempfile.TemporaryDirectory() as folder:
            pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))

            def kill_one(done, of):
                if done == 5:
                    os.kill(next(iter(pool._processes)), signal.SIGKILL)

            with self.assertRaises(BrokenProcessPool), pool:
                Model.assumed().sweep(GRID, JOBS, pool, draws=3, folder=folder, progress=kill_one)
            before = kept(folder)
            self.assertTrue(5 <= len(before) < 12, before)
            with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
                again = Model.assumed().sweep(GRID, JOBS, executor, draws=3, folder=folder)
            self.assertEqual(again.to_json(), expected.to_json())
            after = kept(folder)
            self.assertEqual({name: after[name] for name in before}, before)


class Dask(unittest.TestCase):
    def test_two_workers_give_the_same_bits_and_one_may_be_killed(self):
        from distributed import Client, LocalCluster

        expected = whole()
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
        with tempfile.TemporaryDirectory() as folder, cluster, Client(cluster) as client:
            executor = client.get_executor()
            model = Model.assumed()
            self.assertEqual(model.sweep(GRID, JOBS, executor, draws=3).to_json(), expected.to_json())
            best = model.best(JOBS, GRID, executor=executor)
            workers = client.run(os.getpid)
            self.assertEqual(len(workers), 2)
            kept_then = {}

            def kill_one(done, of):
                if done == 3:
                    kept_then.update(kept(folder))
                    os.kill(next(iter(workers.values())), signal.SIGKILL)

            killed = model.sweep(GRID, JOBS, executor, draws=3, folder=folder, progress=kill_one)
            self.assertEqual(killed.to_json(), expected.to_json())
            self.assertGreaterEqual(len(kept_then), 3)
            after = kept(folder)
            self.assertEqual({name: after[name] for name in kept_then}, kept_then)
        self.assertEqual(best.to_json(), Model.assumed().best(JOBS, GRID).to_json())


class Mpi(unittest.TestCase):
    def test_two_ranks_give_the_same_bits(self):
        expected = whole()
        code = (
            "import sys; from mpi4py.futures import MPIPoolExecutor; from fathomfs import Model, Trace\n"
            "if __name__ == '__main__':\n"
            "    with MPIPoolExecutor() as executor:\n"
            f"        swept = Model.assumed().sweep({GRID!r}, {JOBS!r}, executor, draws=3)\n"
            "        print(executor.num_workers); print(swept.to_json())\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "sweep.py")
            with open(script, "w", encoding="utf-8") as text:
                text.write(code)
            done = mpirun(3, "-m", "mpi4py.futures", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split("\n", 1), ["2", expected.to_json() + "\n"])


class Policies(unittest.TestCase):
    def test_other_policies_are_simulated(self):
        with tempfile.TemporaryDirectory() as folder:
            log, out = os.path.join(folder, "log.csv"), os.path.join(folder, "t.parquet")
            with open(log, "w", encoding="utf-8") as text:
                # One of 2000 blocks, the lower the more often; two of them at once.
                blocks = [at * 7919 % 2000 * (at * 104729 % 2003) // 2003 for at in range(40_000)]
                text.writelines(f"{at % 2},R,{block * 4096},8192,{10**15 + at}\n" for at, block in enumerate(blocks))
            trace = Trace.import_(log, out)
            sizes = [at * 4096 for at in (128, 256, 1024, 4096)]
            found = trace.hit_ratios(["LRU", "FIFO", "S3FIFO", "ARC", "two_lists", "generations"], cache_bytes=sizes).rows()
            self.assertEqual([row["cache_bytes"] for row in found], sizes)
            for row in found:
                self.assertAlmostEqual(row["hit_ratio"], row["LRU"], places=9)
            middle = found[2]
            self.assertGreater(len({round(middle[name], 3) for name in ("LRU", "FIFO", "ARC")}), 1)
            for name in ("two_lists", "generations"):
                self.assertAlmostEqual(found[3][name], found[3]["LRU"], places=9)
            with open(log, "w", encoding="utf-8") as text:
                # 64 blocks twice, and 400 others once, again and again: the kernel keeps the former, and LRU nothing.
                rounds = [at for turn in range(20) for at in [*range(64), *range(64), *range(1000 + 400 * turn, 1400 + 400 * turn)]]
                text.writelines(f"1,R,{block * 4096},4096,{10**15 + at}\n" for at, block in enumerate(rounds))
            (row,) = Trace.import_(log, os.path.join(folder, "scans.parquet")).hit_ratios(["LRU", "two_lists", "generations"], cache_bytes=[1 << 20]).rows()
            self.assertAlmostEqual(row["LRU"], 64 / 528, places=9)
            self.assertAlmostEqual(row["two_lists"], (128 * 20 - 64) / (528 * 20), delta=0.01)
            # Generations protect what is read twice once it has come back, from the third round on.
            self.assertAlmostEqual(row["generations"], (64 * 20 + 64 * 18) / (528 * 20), delta=0.01)


class Clients(unittest.TestCase):
    """Jobs that ranks run together."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.own = folder.name
        self.shared = os.path.join(folder.name, "shared")
        os.mkdir(self.shared)

    def run_jobs(self, ranks, text, *words, **how):
        job, self.result = os.path.join(self.own, "job.fio"), os.path.join(self.own, "result.json")
        with open(job, "w", encoding="utf-8") as file:
            file.write(text)
        words = ["run", job, self.shared, "--json", self.result, *words]
        return mpirun(ranks, "-m", "fathomfs.mpi", *words, **how)

    def lines(self, done):
        """What Fathom says of a failure, and not MPI."""
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(os.listdir(self.shared), [])
        return [line for line in done.stderr.splitlines() if line.startswith("fathom: ")]

    def test_four_ranks_come_to_the_sum_of_each(self):
        text = "[a]\nrw=write\nbs=64k\nsize=4m\nfilename=a\n[b]\nstonewall\nrw=read\nbs=64k\nsize=4m\nfilename=a\n"
        for words in ([], ["--shift", "1"]):
            done = self.run_jobs(4, text, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(os.listdir(self.shared), [])
            with open(self.result, encoding="utf-8") as file:
                found = json.load(file)
            self.assertEqual([job["name"] for job in found["jobs"]], ["a", "b"])
            for job in found["jobs"]:
                (side,), ranks = job["sides"], job["ranks"]
                self.assertEqual((side["bytes"], side["calls"]), (16 << 20, 256))
                self.assertEqual([rank["sides"][0]["bytes"] for rank in ranks], [4 << 20] * 4)
                ends = [rank["begun_ns"] + rank["elapsed_ns"] for rank in ranks]
                self.assertEqual(job["elapsed_ns"], max(ends) - min(rank["begun_ns"] for rank in ranks))
                self.assertLessEqual(side["max_ns"], max(rank["elapsed_ns"] for rank in ranks))
                self.assertEqual(side["max_ns"], max(rank["sides"][0]["max_ns"] for rank in ranks))
                slowest = ranks[job["slowest"]]
                self.assertEqual(slowest["elapsed_ns"], max(rank["elapsed_ns"] for rank in ranks))
            # The ranks have one clock here.
            for rank in found["ranks"]:
                self.assertLessEqual(abs(rank["offset_ns"]), rank["offset_error_ns"])
            self.assertIn("the slowest was rank", done.stdout)

    def test_a_rank_that_dies_ends_all(self):
        died = []

        def kill_one(started):
            while not any(name.startswith("rank-3") for _, names, _ in os.walk(self.shared) for name in names):
                time.sleep(0.05)
            time.sleep(1)
            ranks = subprocess.run(["pgrep", "-P", str(started.pid)], capture_output=True, text=True, check=True)
            os.kill(int(ranks.stdout.split()[-1]), signal.SIGKILL)
            died.append(time.monotonic())

        done = self.run_jobs(4, "[a]\nrw=write\nsize=8m\ntime_based\nruntime=60\n", during=kill_one)
        self.assertLess(time.monotonic() - died[0], 5)
        self.assertEqual(len(self.lines(done)), 1, done.stderr)
        self.assertIn("another rank has died", done.stderr)

    def test_what_is_wrong_is_said_once(self):
        good = "[a]\nrw=write\nsize=8m\n"
        for text, words, said in [
            ("[a]\nszie=1m\n", [], "did you mean size"),
            (good, ["--max-write", "1"], "raise --max-write"),
            (good, ["--shfit", "1"], "--shfit"),
        ]:
            (line,) = self.lines(self.run_jobs(3, text, *words))
            self.assertIn(said, line)
        (line,) = self.lines(mpirun(2, "-m", "fathomfs.mpi", "run", os.path.join(self.own, "none.fio"), self.shared))
        self.assertIn("none.fio: no such file", line)
        for words, said in [
            (["ior", "-a", "MPIIO"], "POSIX alone"),
            (["fio"], "mdtest"),
        ]:
            (line,) = self.lines(mpirun(2, "-m", "fathomfs.mpi", "run", self.shared, "--", *words))
            self.assertIn(said, line)

    def test_command_lines_of_ior_and_mdtest_run(self):
        ior = mpirun(2, "-m", "fathomfs.mpi", "run", self.shared, "--", *"ior -a POSIX -F -b 2m -t1m -s 2 -C -e".split())
        self.assertRegex(ior.stdout, r"(?m)^Max Write: +[0-9.]+ MiB/sec \([0-9.]+ MB/sec\)$", ior.stderr)
        self.assertRegex(ior.stdout, r"(?m)^Max Read: +[0-9.]+ MiB/sec \([0-9.]+ MB/sec\)$")
        # A sync takes longer than the writes into the page cache, and IOR's rate has it.
        written = re.search(r"(?m)^write +write +all +([0-9.]+)", ior.stdout)
        synced = re.search(r"(?m)^Max Write: +([0-9.]+)", ior.stdout)
        self.assertLess(float(synced[1]), float(written[1]))
        mdtest = mpirun(2, "-m", "fathomfs.mpi", "run", self.shared, "--", *"mdtest -n 20 -F -i 2".split())
        for title in ("File creation", "File stat", "File removal"):
            self.assertRegex(mdtest.stdout, rf"(?m)^   {title}  +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$", mdtest.stderr)
        self.assertEqual(os.listdir(self.shared), [])

    def test_ranks_of_ior_wear_out(self):
        result = os.path.join(self.own, "result.json")
        ior = "ior -F -w -b 1g -t 4k --posix.odirect -D 1".split()
        words = ["run", self.shared, "--json", result, "--", *ior, "-O", "stoneWallingWearOut=1"]
        done = mpirun(3, "-m", "fathomfs.mpi", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(result, encoding="utf-8") as file:
            (job,) = json.load(file)["jobs"]
        # Without it three ranks on two CPUs move as much each as they come to.
        self.assertEqual(len({one["sides"][0]["bytes"] for one in job["ranks"]}), 1, job["ranks"])
        self.assertGreaterEqual(job["elapsed_ns"], 1e9)

    def test_ranks_of_ior_share_one_file(self):
        seen = {}

        def look(started):
            while started.poll() is None:
                for folder, _, names in os.walk(self.shared):
                    for path in (os.path.join(folder, name) for name in names if name == "file.ior"):
                        try:
                            seen[path] = max(seen.get(path, 0), os.stat(path).st_size)
                        except FileNotFoundError:
                            pass
                time.sleep(0.001)

        result = os.path.join(self.own, "result.json")
        words = ["run", self.shared, "--json", result, "--", *"ior -b 8m -t 256k -s 2 -C -e".split()]
        done = mpirun(3, "-m", "fathomfs.mpi", *words, during=look)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(seen.values()), [48 << 20])
        with open(result, encoding="utf-8") as file:
            jobs = json.load(file)["jobs"]
        self.assertEqual([[one["sides"][0]["bytes"] for one in job["ranks"]] for job in jobs], [[16 << 20] * 3] * 2)
        self.assertEqual(os.listdir(self.shared), [])

    def test_a_survey_asks_one_client_and_more(self):
        result = os.path.join(self.own, "result.json")
        done = mpirun(3, "-m", "fathomfs.mpi", "survey", self.shared, "--json", result)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(result, encoding="utf-8") as file:
            costs = json.load(file)["costs"]
        calls = ["create", "stat", "unlink", "write 4k", "read 4k", "write 4k, fsync"]
        self.assertEqual([(one["call"], one["clients"]) for one in costs], [(call, at) for call in calls for at in (1, 2, 3)])
        for one in costs:
            self.assertLessEqual(one["ratio_low"], one["ratio"])
            self.assertLessEqual(one["ratio"], one["ratio_high"])
            self.assertEqual(one["clients"] == 1, (one["ratio_low"], one["ratio_high"]) == (1, 1))
        self.assertEqual(os.listdir(self.shared), [])


def mpirun(ranks, *words, during=None, timeout=120):
    """What MPI's ranks printed, more of them than CPUs, and as root; `during` is called with the process."""
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    command = ["mpirun", "-n", str(ranks), sys.executable, *words]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **allowed}
    )
    if during:
        during(started)
    out, err = started.communicate(timeout=timeout)
    return subprocess.CompletedProcess(command, started.returncode, out, err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
