"""Which kind of page shows the outputs of this kernel, as far as the kernel can know."""

from __future__ import annotations

import sys


def draws_in_outputs() -> bool:
    """Tell whether a widget's script can reach the HTML outputs of its page, as in JupyterLab and Notebook.

    VS Code and Colab start a widget only when its own output is shown.
    """
    from IPython import get_ipython

    shell = get_ipython()
    in_vs_code = shell is not None and "__vsc_ipynb_file__" in shell.user_ns
    return not in_vs_code and "google.colab" not in sys.modules
