"""The notebooks, from their first cell to the last; `tests/python.rs` runs them where nbclient is installed."""

import os
import tempfile
import unittest

import nbformat
from nbclient import NotebookClient

import fathomfs

NOTEBOOKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../notebooks")


class Notebooks(unittest.TestCase):
    def run_in(self, folder, name):
        """What the code cells of a notebook gave: their texts and their pages."""
        notebook = nbformat.read(os.path.join(NOTEBOOKS, name), as_version=4)
        nbformat.validate(notebook)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self.assertEqual([cell.outputs for cell in cells], [[]] * len(cells))
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
        outputs = [output for cell in cells for output in cell.outputs]
        printed = "".join(output.text for output in outputs if output.output_type == "stream")
        pages = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
        return printed, pages

    def test_a_mount_is_discovered(self):
        with tempfile.TemporaryDirectory() as folder:
            printed, (page,) = self.run_in(folder, "discover.ipynb")
            self.assertEqual(os.listdir(folder), [])
        self.assertIn("readahead_window", page)
        self.assertRegex(printed, r"declared: \d+ found: \d+")

    def test_a_block_size_and_a_depth_are_chosen_and_checked(self):
        # Calibrating takes minutes: here is a model of no machine.
        with tempfile.TemporaryDirectory() as folder:
            fathomfs.Model.assumed().save(os.path.join(folder, "mine.json"))
            printed, (page,) = self.run_in(folder, "choose.ipynb")
            self.assertEqual(os.listdir(folder), ["mine.json"])
        self.assertIn("iodepth", page)
        self.assertRegex(printed, r"(?m)^4k +1 +\d+ MiB/s \(\d+ to \d+\) +\d+ MiB/s$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
