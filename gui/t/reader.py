#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a screen reader gets of the window, by AT-SPI: answers questions from standard input.

has ROLE PATTERN: yes, when such an element comes within a minute, by name or description.
not ROLE PATTERN: the same for none. soon ROLE PATTERN: has, within 5 s.
nameless: the roles of elements that can be used and have no name, or "none".
"""
import re
import sys
import time

import gi

gi.require_version('Atspi', '2.0')
from gi.repository import Atspi, GLib  # noqa: E402

USED = {'push button', 'toggle button', 'entry', 'text', 'table', 'tree table', 'page tab', 'image',
        'check box', 'menu item', 'list item'}
APPLICATION = 'tipme-gui'


def children(node):
    """Those that are still there: the window changes while we look."""
    try:
        return [c for c in (node.get_child_at_index(i) for i in range(node.get_child_count())) if c]
    except GLib.Error:
        return []


def below(node):
    yield node
    for child in children(node):
        yield from below(child)


def elements(frames=False):
    """Role, name and description of each element as it stands now; or of the windows only."""
    for application in children(Atspi.get_desktop(0)):
        try:
            if application.get_name() != APPLICATION:
                continue
        except GLib.Error:
            continue
        application.clear_cache()
        for node in children(application) if frames else below(application):
            try:
                yield (node.get_role_name(), node.get_name() or '',
                       node.get_description() or '')
            except GLib.Error:
                continue


def has(role, pattern):
    wanted = re.compile(pattern)
    return any(r == role and (wanted.search(n) or wanted.search(d)) for r, n, d in elements(role == 'frame'))


def comes(condition, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return 'yes'
        time.sleep(0.1)
    return 'no'


def nameless():
    found = sorted({r for r, n, d in elements() if r in USED and not n and not d})
    return ', '.join(found) or 'none'


for line in sys.stdin:
    what, role, pattern = (line.rstrip('\n').split('\t') + ['', ''])[:3]
    if what == 'has':
        said = comes(lambda: has(role, pattern), 60)
    elif what == 'soon':
        said = comes(lambda: has(role, pattern), 5)
    elif what == 'not':
        said = comes(lambda: not has(role, pattern), 60)
    else:
        said = nameless()
    print(said, flush=True)
