# SPDX-License-Identifier: GPL-2.0-only
"""What a program of the desk does in its handler before it answers: one line of words, by the library that programs use for it."""
import time


def compute(ms):
    end = time.monotonic() + int(ms) / 1000
    n = 0
    while time.monotonic() < end:
        n += sum(range(1000))
    return n


def work(ms):
    end = time.process_time() + int(ms) / 1000
    while time.process_time() < end:
        sum(range(1000))


def sleep(ms):
    time.sleep(int(ms) / 1000)


def read(path):
    with open(path, 'rb', buffering=0) as f:
        return len(f.read())


def flock(path):
    import fcntl
    with open(path) as f:
        fcntl.flock(f, fcntl.LOCK_EX)


def sqlite(path):
    import sqlite3
    db = sqlite3.connect(path, timeout=20)
    db.execute('insert into t values (1)')
    db.commit()
    db.close()


def dbus(name, timeout_ms='-1'):
    from gi.repository import Gio, GLib
    bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
    try:
        return bus.call_sync(name, '/store', name, 'Ask', None, GLib.VariantType('(s)'), Gio.DBusCallFlags.NONE, int(timeout_ms), None)
    except GLib.Error as e:
        return e


def http(port):
    import urllib.request
    return urllib.request.urlopen(f'http://127.0.0.1:{port}/').read()


def do(line):
    words = line.split()
    if words:
        globals()[words[0]](*words[1:])


def warm(line):
    """What a program has done before: modules loaded, the bus known."""
    import fcntl
    import sqlite3
    import urllib.request
    if line.startswith('dbus'):
        from gi.repository import Gio
        Gio.bus_get_sync(Gio.BusType.SESSION, None)
