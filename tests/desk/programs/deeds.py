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


def far(door):
    """Asks a server in the network whose sockets are to be had at that door (far.py)."""
    import socket
    with socket.socket(socket.AF_UNIX) as asks:
        asks.connect(door)
        fds = socket.recv_fds(asks, 1, 1)[1]
    with socket.socket(fileno=fds[0]) as server:
        server.connect(('198.51.100.9', 80))
        server.sendall(b'GET / HTTP/1.0\r\n\r\n')
        while server.recv(4096):
            pass


def grow(mb):
    """As many MiB of memory of its own, each page of which is touched."""
    import mmap
    with mmap.mmap(-1, int(mb) << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as m:
        for at in range(0, len(m), mmap.PAGESIZE):
            m[at] = at >> 12 & 255 | 1


def do(line):
    words = line.split()
    if words:
        globals()[words[0]](*words[1:])


def warm(line):
    """What a program has done before: modules loaded, the bus known."""
    import fcntl
    import mmap
    import sqlite3
    import urllib.request
    if line.startswith('dbus'):
        from gi.repository import Gio
        Gio.bus_get_sync(Gio.BusType.SESSION, None)
