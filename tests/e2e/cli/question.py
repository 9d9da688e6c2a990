# SPDX-License-Identifier: Apache-2.0
"""A question with two buttons, in GTK 3: programs of GTK 4 do not say where on the screen their elements are.

usage: question.py TEXT YES-LABEL    exit status 0: yes
"""

import sys

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gtk  # noqa: E402

dialog = Gtk.MessageDialog(text=sys.argv[1], title="Asking")
dialog.add_buttons("No", Gtk.ResponseType.NO, sys.argv[2], Gtk.ResponseType.YES)
sys.exit(0 if dialog.run() == Gtk.ResponseType.YES else 1)
