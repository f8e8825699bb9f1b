#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A small GTK program (version 3 or 4): a text, and a button; F5 and the button do the deed and add a line."""
import sys
import os
import gi
version, deed = sys.argv[1], os.environ.get('DESK_DEED', '')
gi.require_version('Gtk', version + '.0')
gi.require_version('Gdk', version + '.0')
from gi.repository import Gtk, Gdk, Gio, GLib
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import deeds


class Notes:
    def __init__(self, app):
        deeds.warm(deed)
        w = Gtk.ApplicationWindow(application=app, title='desk-notes')
        self.text = Gtk.TextView(cursor_visible=False)
        self.button = Gtk.Button(label='Refresh')
        self.button.connect('clicked', lambda b: self.answer())
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        scrolled = Gtk.ScrolledWindow(hexpand=True, vexpand=True)
        if version == '3':
            scrolled.add(self.text)
            box.pack_start(scrolled, True, True, 0)
            box.pack_start(self.button, False, False, 0)
            w.add(box)
            w.connect('key-press-event', lambda w, e: self.key(e.keyval))
        else:
            scrolled.set_child(self.text)
            box.append(scrolled)
            box.append(self.button)
            w.set_child(box)
            keys = Gtk.EventControllerKey(propagation_phase=Gtk.PropagationPhase.CAPTURE)
            keys.connect('key-pressed', lambda c, keyval, code, state: self.key(keyval))
            w.add_controller(keys)
        self.text.grab_focus()
        w.set_default_size(800, 500)
        w.show_all() if version == '3' else w.present()

    def key(self, keyval):
        if keyval == Gdk.KEY_F5:
            self.answer()
        elif keyval == Gdk.KEY_F6:      # echoes at once, and works when nothing more is typed for 150 ms
            self.say('searching ...')
            GLib.timeout_add(150, self.answer)
        else:
            return False
        return True

    def answer(self):
        deeds.do(deed)
        self.say('the answer')
        return False

    def say(self, text):
        b = self.text.get_buffer()
        b.insert(b.get_end_iter(), text + '\n')


app = Gtk.Application(application_id=None, flags=Gio.ApplicationFlags.NON_UNIQUE)
app.connect('activate', Notes)
app.run(None)
