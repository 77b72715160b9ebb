"""Tests of the package, with nothing but Python's own library; `tests/python.rs` runs them on what cargo has built."""

import contextlib
import doctest
import io
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import fathomfs
from fathomfs import JobError, MeasurementError, Model, ModelError, ResultError, Trace

JOBS = {"reads": {"rw": "randread", "size": "1m", "direct": True, "ioengine": "libaio"}}
TEXT = "[reads]\nrw=randread\nsize=1m\ndirect=1\nioengine=libaio\n"
GRID = {"readahead": ["128K", "1M"], "bs": ["4k", "16k", "64k"], "iodepth": [1, 8]}
# A simulation of seconds: what an interrupt leaves of it must end by itself.
SLOW = {"slow": {"rw": "randread", "size": "64g", "io_size": "4g"}}


def tables(source):
    """The rows of a table as each library that is installed takes them."""
    with contextlib.suppress(ImportError):
        import pyarrow

        yield "pyarrow", pyarrow.table(source).to_pylist()
    with contextlib.suppress(ImportError):
        import polars

        yield "polars", polars.DataFrame(source).to_dicts()
    with contextlib.suppress(ImportError):
        import duckdb

        found = duckdb.sql("from source")
        yield "duckdb", [dict(zip(found.columns, row)) for row in found.fetchall()]
    with contextlib.suppress(ImportError):
        import pandas

        if hasattr(pandas.DataFrame, "from_arrow"):
            frame = pandas.DataFrame.from_arrow(source)
            rows = frame.astype(object).where(frame.notna(), None)
            yield "pandas", rows.to_dict("records")


def trace_of(folder):
    """A trace of calls on files."""
    log, out = os.path.join(folder, "own.log"), os.path.join(folder, "own.parquet")
    with open(log, "w", encoding="utf-8") as text:
        text.write("fio version 2 iolog\n/f add\n/f open\n" + "/f read 0 4096\n" * 5 + "/f close\n")
    return fathomfs.Trace.import_(log, out, "fio")


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    return timer


class Package(unittest.TestCase):
    def test_the_documentation_is_right(self):
        found = [doctest.testmod(module) for module in (fathomfs, sys.modules["fathomfs._traces"])]
        self.assertGreater(sum(one.attempted for one in found), 20)
        self.assertEqual([one.failed for one in found], [0, 0])

    def test_the_examples_of_the_readme_and_of_the_guide_run(self):
        own = os.path.dirname(os.path.abspath(__file__))
        for page in ("../README.md", "../../../docs/guide/sweeping.md"):
            with open(os.path.join(own, page), encoding="utf-8") as text:
                blocks = text.read().split("```python\n")[1:]
            self.assertTrue(blocks, page)
            for block in blocks:
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec(block.partition("```")[0], {})
                self.assertIn("reads", printed.getvalue())

    def test_jobs_may_be_a_file_a_text_or_sections(self):
        predicted = Model.assumed().predict(JOBS, draws=2)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "job.fio")
            with open(file, "w", encoding="utf-8") as text:
                text.write(TEXT)
            for jobs in (TEXT, file):
                self.assertEqual(Model.assumed().predict(jobs, draws=2), predicted)

    def test_what_is_set_is_kept_and_changes_no_other_model(self):
        model = Model.assumed()
        changed = model.with_(readahead="64K").with_(device="plain_queue")
        self.assertEqual(changed.predict(JOBS, draws=0).settings, ["readahead=64K", "device=plain_queue"])
        self.assertNotEqual(model, changed)
        self.assertEqual(model, Model.assumed())
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.json")
            changed.save(file)
            self.assertEqual(Model.load(file), changed)

    def test_results_are_pickled_shown_and_compared(self):
        model = Model.assumed()
        predicted = model.predict(JOBS, draws=2)
        for one in (model.with_(readahead="1M"), predicted, model.sweep({"bs": ["4k"]}, JOBS, draws=0)):
            again = pickle.loads(pickle.dumps(one))
            self.assertEqual((again, repr(again), hash(again)), (one, repr(one), hash(one)))
            self.assertEqual(json.loads(one.to_json()), one.to_dict())
        self.assertIn("reads", str(predicted))
        self.assertIn("IOPS", str(model.sweep({"bs": ["4k"]}, JOBS, draws=0)))
        self.assertTrue(predicted._repr_html_().startswith("<iframe"))
        self.assertIn("<!doctype html>", predicted.page().lower())
        with self.assertRaises(AttributeError):
            predicted.no_such_field

    def test_every_executor_gives_the_same_bits(self):
        model = Model.assumed()
        # Threads of this process are busy before it forks.
        whole = model.sweep(GRID, JOBS, draws=3)
        done = []
        one = model.sweep(GRID, JOBS, draws=3, progress=lambda cells, of: done.append((cells, of)))
        self.assertEqual((one.to_json(), done[-1], len(done)), (whole.to_json(), (12, 12), 12))
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            with ProcessPoolExecutor(2, mp_context=context) as executor:
                self.assertEqual(model.sweep(GRID, JOBS, executor, draws=3).to_json(), whole.to_json())
        with ThreadPoolExecutor(2) as executor:
            self.assertEqual(model.sweep(GRID, JOBS, executor, draws=3).to_json(), whole.to_json())

    def test_the_best_cell_is_that_of_the_grid_on_every_executor(self):
        model = Model.assumed()
        rows = model.sweep(GRID, JOBS).rows()
        best = model.best(JOBS, GRID)
        fastest = max(rows, key=lambda row: row["bytes_per_second"])
        self.assertEqual(best.settings, {name: fastest[name] for name in GRID})
        self.assertEqual(best.figure.value, fastest["bytes_per_second"])
        self.assertLess(best.simulated, best.whole_grid)
        for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
            with kind(2) as executor:
                self.assertEqual(model.best(JOBS, GRID, "bandwidth", executor).to_json(), best.to_json())
        quick = model.best(JOBS, GRID, by="p99")
        self.assertEqual(quick.settings["iodepth"], "1")
        self.assertIn("The shortest latency", str(quick))
        self.assertIn("<iframe", quick._repr_html_())

    def test_a_cell_is_the_prediction_with_its_settings(self):
        model = Model.assumed()
        cell = model.sweep(GRID, JOBS, draws=3).to_dict()["cells"][9]
        self.assertEqual(cell["settings"], {"readahead": "1M", "bs": "16k", "iodepth": "8"})
        jobs = {"reads": {**JOBS["reads"], "bs": "16k", "iodepth": 8}}
        alone = model.with_(readahead="1M").predict(jobs, draws=3)
        self.assertEqual(cell["jobs"], alone.to_dict()["jobs"])

    def test_a_folder_keeps_cells(self):
        model = Model.assumed()
        whole = model.sweep(GRID, JOBS, draws=1)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(model.sweep(GRID, JOBS, draws=1, folder=folder), whole)
            lost = os.path.join(folder, "cells", "0000004.json")
            kept = os.path.join(folder, "cells", "0000005.json")
            os.remove(lost)
            before = os.stat(kept)
            with ProcessPoolExecutor(2) as executor:
                self.assertEqual(model.sweep(GRID, JOBS, executor, draws=1, folder=folder), whole)
            self.assertTrue(os.path.exists(lost))
            self.assertEqual(os.stat(kept).st_ino, before.st_ino)
            with self.assertRaisesRegex(ResultError, "another sweep"):
                model.sweep(GRID, JOBS, draws=2, folder=folder)

    def test_rows_are_flat_and_have_the_refused(self):
        rows = Model.assumed().sweep({"ioengine": ["libaio", "splice"], "direct": [0]}, JOBS, draws=0).rows()
        self.assertEqual([row["ioengine"] for row in rows], ["libaio", "splice"])
        self.assertIn("splice", rows[1]["refused"])
        self.assertLess(rows[0]["p99_ns_low"], rows[0]["p99_ns_high"] + 1)

    def test_results_are_tables(self):
        model = Model.assumed()
        with tempfile.TemporaryDirectory() as folder:
            results = [
                model.predict(JOBS, draws=2),
                model.predict({"both": {"rw": "randrw", "size": "1m", "fsync": 8}}, draws=2),
                model.sweep({"ioengine": ["libaio", "splice"], "direct": [0]}, JOBS, draws=0),
                model.sweep({"ioengine": ["libaio"]}, JOBS, draws=0),
                model.best(JOBS, {"bs": ["4k", "64k"]}, draws=2),
                fathomfs.run({"reads": {"rw": "randread", "size": "64k"}}, folder),
                fathomfs.survey(folder, only=["page_size", "attribute_timeout"], effort="quick", max_write=64 << 20),
            ]
        for result in results:
            rows, names = result.rows(), {}
            for row in rows:
                names |= dict.fromkeys(row)
            whole = [{name: row.get(name) for name in names} for row in rows]
            for library, again in tables(result):
                with self.subTest(f"{result!r} by {library}"):
                    self.assertEqual(again, whole)

    def test_traces_are_imported_shown_and_pickled(self):
        with tempfile.TemporaryDirectory() as folder:
            log, out = os.path.join(folder, "log.csv"), os.path.join(folder, "t.parquet")
            # More than a group of rows.
            count = 300_000
            with open(log, "w", encoding="utf-8") as text:
                text.writelines(f"{at % 3},{'RW'[at % 2]},{at * 4096},4096,{10**15 + at}\n" for at in range(count))
            trace = Trace.import_(log, out)
            self.assertEqual((trace, os.fspath(trace)), (Trace.open(out), out))
            self.assertEqual(pickle.loads(pickle.dumps(trace)), trace)
            self.assertEqual(trace.origin["source"], "alibaba")
            shown = trace.show()
            self.assertEqual((shown.operations, shown.reads.count, shown.file_count), (count, count // 2, 3))
            self.assertEqual(pickle.loads(pickle.dumps(shown)), shown)
            self.assertEqual(trace.to_dict(), shown.to_dict())
            self.assertIn("300000 requests to devices, from alibaba", str(trace))
            self.assertTrue(trace._repr_html_().startswith("<iframe"))
            predicted = Model.assumed().predict(trace_of(folder), draws=0)
            self.assertEqual(predicted.jobs[0].name, "own.parquet")
            parts = Trace.import_(log, os.path.join(folder, "parts"), rows_per_part=130_000)
            self.assertEqual(len(os.listdir(parts.path)), 3)
            self.assertEqual({**parts.to_dict(), "name": out}, shown.to_dict())
            for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
                with kind(2) as executor:
                    self.assertEqual(parts.show(executor), parts.show())
            for (library, rows), (_, whole) in zip(tables(parts), tables(trace)):
                with self.subTest(library):
                    self.assertEqual(rows, whole)
            expected = {
                "start_ns": 10**15 * 1000 + (count - 1) * 1000,
                "duration_ns": None,
                "kind": "write",
                "path": str((count - 1) % 3),
                "offset": (count - 1) * 4096,
                "length": 4096,
                "to": None,
            }
            for library, rows in tables(trace):
                with self.subTest(library):
                    self.assertEqual(len(rows), count)
                    self.assertEqual({name: rows[-1][name] for name in expected}, expected)
            curve = parts.hit_ratios()
            self.assertEqual(curve.points, shown.hit_ratios)
            self.assertEqual((curve.error, curve.sampled, curve.footprint_bytes), (0, 1, shown.footprint_bytes))
            self.assertEqual(pickle.loads(pickle.dumps(curve)), curve)
            for sample, policies, sizes, said in [
                (0, [], [], "sample=0"), (1, ["FIFO"], [], "cache_bytes|libCacheSim"), (1, ["MAGIC"], [1 << 20], "MAGIC|libCacheSim")
            ]:
                with self.assertRaisesRegex(fathomfs.TraceError, said):
                    trace.hit_ratios(policies, cache_bytes=sizes, sample=sample)
            with self.assertRaisesRegex(fathomfs.TraceError, "no trace|[Pp]arquet|footer"):
                Trace.open(log)
            with self.assertRaisesRegex(fathomfs.TraceError, "create"):
                Trace.import_(log, out, "alibaba")
            with self.assertRaisesRegex(fathomfs.TraceError, "say fio"):
                Trace.import_(log, out, "tape")
            with open(log, "a", encoding="utf-8") as text:
                text.write("nonsense\n")
            with self.assertWarnsRegex(UserWarning, "1 lines of .* made no sense"):
                Trace.import_(log, os.path.join(folder, "again.parquet"), "alibaba")

    def test_what_a_command_does_is_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "own.parquet")
            code = "open('/etc/hostname').read()"
            try:
                trace = Trace.record([sys.executable, "-c", code], out)
            except fathomfs.TraceError as error:
                self.skipTest(str(error))
            self.assertGreater(trace.show().operations, 3)
            self.assertRaises(ValueError, Trace.record)

    def test_failures_are_told_by_cause(self):
        model = Model.assumed()
        for cause, said, call in [
            (ModelError, "readahead", lambda: model.with_(readahaed="1M")),
            (ModelError, "schema", lambda: Model("{}")),
            (JobError, "did you mean", lambda: model.predict("[a]\nszie=1m\n")),
            (JobError, "no/such", lambda: model.predict("no/such.fio")),
            (JobError, "splice", lambda: model.predict({"a": {"size": "1m", "ioengine": "splice"}})),
            (JobError, "iodepth", lambda: model.sweep({"iodpeth": [1]}, JOBS)),
            (ModelError, "twice", lambda: model.sweep({"bs": [1, 1]}, JOBS)),
            (MeasurementError, "no/such", lambda: fathomfs.survey("no/such")),
            (MeasurementError, "colour", lambda: fathomfs.survey(only=["colour"])),
            (MeasurementError, "max-write", lambda: fathomfs.run(JOBS, max_write=10)),
            (ResultError, "no/such", lambda: fathomfs.compare("no/such", "no/such")),
        ]:
            with self.subTest(said):
                with self.assertRaisesRegex(cause, said) as raised:
                    call()
                self.assertIsInstance(raised.exception, fathomfs.FathomError)
                self.assertEqual(str(pickle.loads(pickle.dumps(raised.exception))), str(raised.exception))

    def test_a_directory_is_surveyed_compared_and_worked_in(self):
        with tempfile.TemporaryDirectory() as folder:
            found = fathomfs.survey(folder, only=["page_size", "block_size"], effort="quick", max_write=64 << 20)
            self.assertEqual([finding.parameter for finding in found.findings], ["page_size", "block_size"])
            self.assertIn("page_size", str(found))
            self.assertEqual(pickle.loads(pickle.dumps(found)), found)
            compared = fathomfs.compare(found, found)
            self.assertEqual(compared.schema, "fathom.comparison/1")
            self.assertIn("<iframe", compared._repr_html_())
            ran = fathomfs.run({"reads": {"rw": "randread", "size": "64k"}}, folder)
            self.assertEqual((ran.jobs[0].name, os.listdir(folder)), ("reads", []))

    def test_jobs_that_read_take_the_files_of_another_process(self):
        jobs = ("jobs", "[a]\nrw=write\nsize=64k\nfilename=a\n[b]\nstonewall\nrw=read\nsize=64k\nfilename=a\n")
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            place, met = (folder, 1 << 30, 60.0, 1), []

            def meet(what, directory, jobs):
                met.append((what, os.path.dirname(directory), jobs))
                return other if what == "laid out" else None

            with self.assertRaisesRegex(MeasurementError, f"{other}/file.a"):
                fathomfs._native.run(place, jobs, meet)
            with open(os.path.join(other, "file.a"), "wb") as file:
                file.truncate(64 << 10)
            met.clear()
            ran = json.loads(fathomfs._native.run(place, jobs, meet))
            self.assertEqual([job["sides"][0]["bytes"] for job in ran["jobs"]], [64 << 10] * 2)
            steps = [(what, folder, 1) for what in ("laid out", "begin", "ended")]
            self.assertEqual((met, os.listdir(folder)), (steps * 2, []))

            def fail(what, directory, jobs):
                raise ValueError("no more")

            with self.assertRaisesRegex(MeasurementError, "no more"):
                fathomfs._native.run(place, jobs, fail)
            self.assertEqual(os.listdir(folder), [])

    def test_an_interrupt_ends_a_prediction_and_a_measurement(self):
        # A shell that starts the tests in the background makes them ignore interrupts, and Python obeys that.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        with tempfile.TemporaryDirectory() as folder:
            endless = {"reads": {"rw": "randread", "size": "1m", "time_based": 1, "runtime": 60}}
            for work in (lambda: Model.assumed().predict(SLOW, draws=0), lambda: fathomfs.run(endless, folder)):
                start = time.monotonic()
                timer = interrupt_after(0.3)
                with self.assertRaises(KeyboardInterrupt):
                    work()
                timer.join()
                self.assertLess(time.monotonic() - start, 10)
                self.assertEqual(os.listdir(folder), [])

    def test_other_threads_go_on(self):
        beats = []
        end = threading.Event()

        def beat():
            while not end.wait(0.005):
                beats.append(time.monotonic())

        thread = threading.Thread(target=beat)
        thread.start()
        Model.assumed().predict({"reads": {"rw": "randread", "size": "64m"}}, draws=4)
        end.set()
        thread.join()
        self.assertGreater(len(beats), 3)

    def test_the_import_is_quick_and_needs_nothing(self):
        code = (
            "import sys, time; before = set(sys.modules); start = time.perf_counter(); import fathomfs;"
            "print(time.perf_counter() - start); print(*sorted(set(sys.modules) - before))"
        )

        def imported():
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            took, modules = done.stdout.splitlines()
            return float(took), modules.split()

        least = min(imported() for _ in range(3))
        self.assertLess(least[0], 0.1)
        others = {name.partition(".")[0] for name in least[1]} - set(sys.stdlib_module_names)
        self.assertEqual(others, {"fathomfs"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
