#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A small Qt program: a text, and a button; F5 and the button do the deed and add a line."""
import sys
import os
from PyQt5.QtCore import Qt, QTimer
from PyQt5.QtDBus import QDBusConnection, QDBusInterface, QDBus
from PyQt5.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import deeds
deed = os.environ.get('DESK_DEED', '')


def dbus(name, timeout_ms='-1'):
    store = QDBusInterface(name, '/store', name, QDBusConnection.sessionBus())
    store.setTimeout(int(timeout_ms))
    return store.call(QDBus.Block, 'Ask')


class Text(QPlainTextEdit):
    def keyPressEvent(self, e):
        if e.key() == Qt.Key_F5:
            answer()
        elif e.key() == Qt.Key_F6:
            self.appendPlainText('searching ...')
            QTimer.singleShot(150, answer)
        else:
            super().keyPressEvent(e)


def answer():
    deeds.do(deed)
    text.appendPlainText('the answer')


deeds.dbus = dbus
deeds.warm(deed if not deed.startswith('dbus') else '')
app = QApplication(sys.argv)
app.setCursorFlashTime(0)
QDBusConnection.sessionBus()
window = QWidget()
window.setWindowTitle('desk-notes')
text = Text()
button = QPushButton('Refresh')
button.setFocusPolicy(Qt.NoFocus)
button.clicked.connect(answer)
layout = QVBoxLayout(window)
layout.addWidget(text)
layout.addWidget(button)
window.resize(800, 500)
window.show()
text.setFocus()
sys.exit(app.exec_())
