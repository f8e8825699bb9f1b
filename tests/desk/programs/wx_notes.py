#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A small wxWidgets program: a text, and a button; F5 and the button do the deed and add a line."""
import sys
import os
import wx
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import deeds
deed = os.environ.get('DESK_DEED', '')


class Notes(wx.Frame):
    def __init__(self):
        super().__init__(None, title='desk-notes', size=(800, 500))
        deeds.warm(deed)
        self.text = wx.TextCtrl(self, style=wx.TE_MULTILINE)
        button = wx.Button(self, label='Refresh')
        button.Bind(wx.EVT_BUTTON, lambda e: self.answer())
        box = wx.BoxSizer(wx.VERTICAL)
        box.Add(self.text, 1, wx.EXPAND)
        box.Add(button, 0, wx.EXPAND)
        self.SetSizer(box)
        self.Bind(wx.EVT_CHAR_HOOK, self.key)
        self.Show()
        self.text.SetFocus()

    def key(self, event):
        if event.GetKeyCode() == wx.WXK_F5:
            self.answer()
        elif event.GetKeyCode() == wx.WXK_F6:
            self.text.AppendText('searching ...\n')
            wx.CallLater(150, self.answer)
        else:
            event.Skip()

    def answer(self):
        deeds.do(deed)
        self.text.AppendText('the answer\n')


app = wx.App()
Notes()
app.MainLoop()
