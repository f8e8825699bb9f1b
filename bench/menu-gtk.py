#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A window of GTK 3 as editors have it, with a menu bar that F10 opens: menu-gtk.py FILE, which is made when the window can be seen.
import sys

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

MENUS = {
    "_File": ["document-new New", "document-open Open...", "", "document-save Save", "document-save-as Save As...", "",
              "document-print Print...", "", "window-close Close", "application-exit Quit"],
    "_Edit": ["edit-undo Undo", "edit-redo Redo", "", "edit-cut Cut", "edit-copy Copy", "edit-paste Paste", "", "edit-find Find..."],
    "_View": ["zoom-in Larger", "zoom-out Smaller", "", "view-fullscreen Full Screen"],
}


def entry(text, accelerators):
    if not text:
        return Gtk.SeparatorMenuItem()
    icon, label = text.split(" ", 1)
    item = Gtk.ImageMenuItem(label=label)
    item.set_image(Gtk.Image.new_from_icon_name(icon, Gtk.IconSize.MENU))
    item.set_always_show_image(True)
    key, modifiers = Gtk.accelerator_parse("<Control>" + label[0].lower())
    item.add_accelerator("activate", accelerators, key, modifiers, Gtk.AccelFlags.VISIBLE)
    return item


window = Gtk.Window(title="tipme-menu")
window.set_default_size(900, 600)
accelerators = Gtk.AccelGroup()
window.add_accel_group(accelerators)
bar = Gtk.MenuBar()
for title, entries in MENUS.items():
    top, menu = Gtk.MenuItem.new_with_mnemonic(title), Gtk.Menu()
    for text in entries:
        menu.append(entry(text, accelerators))
    top.set_submenu(menu)
    bar.append(top)
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
text = Gtk.TextView()
# Nothing is to change by itself while a menu is measured.
text.set_cursor_visible(False)
text.get_buffer().set_text("some text in many lines\n" * 40)
box.pack_start(bar, False, False, 0)
box.pack_start(text, True, True, 0)
window.add(box)
window.show_all()
GLib.timeout_add(1000, lambda: open(sys.argv[1], "w").close())
Gtk.main()
