#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A session of GTK for the tests: session-gtk.py 3|4 FOLDER. Says in FOLDER when it is ready for keys, and when all that was asked of it is drawn:
# 11 letters typed, lists scrolled, rows and text added, a picture moved. Nothing in it blinks or moves by itself.
import os
import sys

import gi

version, folder = sys.argv[1], sys.argv[2]
gi.require_version("Gtk", version + ".0")
from gi.repository import GLib, Gtk  # noqa: E402

OLD = version == "3"
LETTERS = 11


def say(word):
    open(os.path.join(folder, word), "w").close()


def put(box, child, expand=False):
    if OLD:
        box.pack_start(child, expand, expand, 2)
    else:
        child.set_vexpand(expand)
        box.append(child)


class Session:
    def __init__(self):
        settings = Gtk.Settings.get_default()
        settings.set_property("gtk-enable-animations", False)
        settings.set_property("gtk-cursor-blink", False)
        self.step, self.loop = 0, GLib.MainLoop()
        self.window = Gtk.Window(title="tipme-session")
        self.window.set_default_size(900, 700)
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        self.entry, self.text, self.rows = Gtk.Entry(), Gtk.TextView(), Gtk.ListBox()
        self.text.set_cursor_visible(False)
        self.text.get_buffer().set_text("some text in many lines\n" * 40)
        for n in range(60):
            self.add_row(n)
        self.lists = [self.scrolled(self.text), self.scrolled(self.rows)]
        self.picture = Gtk.DrawingArea()
        self.picture.set_size_request(400, 200)
        if OLD:
            self.picture.connect("draw", lambda area, cr: self.draw(cr))
        else:
            self.picture.set_draw_func(lambda area, cr, w, h: self.draw(cr))
        self.bar = Gtk.ProgressBar()
        for child in [self.entry, self.bar, self.picture]:
            put(box, child)
        for child in self.lists:
            put(box, child, True)
        self.window.add(box) if OLD else self.window.set_child(box)
        self.window.show_all() if OLD else self.window.present()
        self.entry.grab_focus()
        GLib.timeout_add(700, self.ready)

    def scrolled(self, child):
        area = Gtk.ScrolledWindow()
        area.set_overlay_scrolling(False)
        area.add(child) if OLD else area.set_child(child)
        return area

    def add_row(self, n):
        label = Gtk.Label(label="row %d" % n)
        self.rows.add(label) if OLD else self.rows.append(label)
        label.show()

    def draw(self, cr):
        for i in range(60):
            cr.set_source_rgb(i % 3 / 2, i % 5 / 4, i % 7 / 6)
            cr.set_line_width(1 + i % 4)
            cr.move_to(6 * i + self.step, 0)
            cr.line_to(390 - 5 * i, 190 - self.step)
            cr.stroke()

    def ready(self):
        say("ready")
        GLib.timeout_add(15, self.go_on)
        return False

    def go_on(self):
        if self.step < 40:
            self.step += 1
            self.bar.set_fraction(self.step / 40)
            self.picture.queue_draw()
            self.add_row(100 + self.step)
            for area in self.lists:
                adjustment = area.get_vadjustment()
                adjustment.set_value(adjustment.get_value() + 7)
            return True
        if len(self.entry.get_text()) < LETTERS:
            return True
        GLib.timeout_add(700, lambda: say("done"))
        return False


if not OLD:
    Gtk.init()
session = Session()
session.loop.run()
