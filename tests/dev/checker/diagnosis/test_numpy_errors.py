"""What is said of NumPy's errors."""

import pytest

from checker.diagnosis import numpy_errors


@pytest.mark.parametrize("imported", numpy_errors.IMPORTS.items())
def test_an_import_to_write_imports_that_name(imported):
    name, statement = imported
    namespace: dict = {}
    exec(statement, namespace)
    assert name in namespace
