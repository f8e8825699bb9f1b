#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A session of Qt for the tests: session-qt.py FOLDER. Says in FOLDER when it is ready for keys, and when all that was asked of it is drawn: 11
# letters typed, a table scrolled, text added, a picture moved. Nothing in it blinks.
import os
import sys

from PyQt5.QtCore import QTimer
from PyQt5.QtGui import QColor, QPainter, QPen
from PyQt5.QtWidgets import QApplication, QLineEdit, QProgressBar, QTableWidget, QTableWidgetItem, QTextEdit, QVBoxLayout, QWidget

LETTERS = 11


def say(word):
    open(os.path.join(sys.argv[1], word), "w").close()


class Picture(QWidget):
    step = 0

    def paintEvent(self, event):
        painter = QPainter(self)
        painter.setRenderHint(QPainter.Antialiasing)
        for i in range(60):
            painter.setPen(QPen(QColor(80 * (i % 3), 60 * (i % 4), 40 * (i % 6)), 1 + i % 4))
            painter.drawLine(6 * i + self.step, 0, 390 - 5 * i, 190 - self.step)


class Session(QWidget):
    def __init__(self):
        super().__init__()
        self.setWindowTitle("tipme-session")
        self.resize(900, 700)
        self.entry, self.bar, self.picture, self.text = QLineEdit(), QProgressBar(), Picture(), QTextEdit()
        self.table = QTableWidget(200, 6)
        for n in range(1200):
            self.table.setItem(n // 6, n % 6, QTableWidgetItem("cell %d" % n))
        self.picture.setMinimumHeight(200)
        self.text.setPlainText("some text in many lines\n" * 40)
        layout = QVBoxLayout(self)
        for child in [self.entry, self.bar, self.picture, self.text, self.table]:
            layout.addWidget(child)
        self.step = 0
        self.timer = QTimer(self)
        self.timer.timeout.connect(self.go_on)
        self.show()
        self.entry.setFocus()
        QTimer.singleShot(700, self.ready)

    def ready(self):
        say("ready")
        self.timer.start(15)

    def go_on(self):
        if self.step < 40:
            self.step += 1
            self.picture.step = self.step
            self.picture.update()
            self.bar.setValue(self.step)
            self.text.append("line %d" % self.step)
            scroll = self.table.verticalScrollBar()
            scroll.setValue(scroll.value() + 1)
        elif len(self.entry.text()) >= LETTERS:
            self.timer.stop()
            QTimer.singleShot(700, lambda: say("done"))


app = QApplication(sys.argv)
app.setStyle("fusion")
app.setCursorFlashTime(0)
session = Session()
sys.exit(app.exec_())
