"""Which kind of page shows the outputs of this kernel, as far as the kernel can know."""

from __future__ import annotations

import sys
from typing import Any


def draws_in_outputs() -> bool:
    """Tell whether a widget's script can reach the HTML outputs of its page, as in JupyterLab and Notebook.

    VS Code and Colab start a widget only when its own output is shown.
    """
    from IPython import get_ipython

    shell = get_ipython()
    in_vs_code = shell is not None and "__vsc_ipynb_file__" in shell.user_ns
    return not in_vs_code and "google.colab" not in sys.modules


def replaces_outputs(shell: Any) -> bool:
    """Tell whether the front end of the running cell can replace what it has shown, as a notebook does.

    A console on a kernel (`jupyter console`, say) shows text as it comes and nothing over again. It
    tells no cell id and has somebody to ask; Colab tells none either, runners have nobody.

    Args:
        shell: The IPython shell of a kernel.
    """
    request = shell.kernel.get_parent() or {}
    has_cell = bool(request.get("metadata", {}).get("cellId")) or "google.colab" in sys.modules
    return has_cell or request.get("content", {}).get("allow_stdin") is False
