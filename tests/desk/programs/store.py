#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A service that others wait for, on the session bus (NAME) or as a web server (a port): answers at once, or after a deed.

usage: store.py NAME|PORT [DEED ...]     (deed: see deeds.py; silent: never answers); prints "ready" with its port or name"""
import sys
import os
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import deeds
where, deed = sys.argv[1], ' '.join(sys.argv[2:])


def serve_web():
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            deeds.do(deed)
            self.send_response(200)
            self.send_header('Access-Control-Allow-Origin', '*')
            self.send_header('Content-Length', '2')
            self.end_headers()
            self.wfile.write(b'ok')

        def log_message(self, *args):
            pass
    server = HTTPServer(('127.0.0.1', 0), Handler)
    print('ready', server.server_port, flush=True)
    server.serve_forever()


def serve_bus():
    from gi.repository import Gio, GLib
    xml = f'<node><interface name="{where}"><method name="Ask"><arg type="s" direction="out"/></method></interface></node>'

    def on_call(bus, sender, path, interface, method, arguments, invocation):
        if deed == 'silent':
            return
        deeds.do(deed)
        invocation.return_value(GLib.Variant('(s)', ('ok',)))
    bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
    bus.register_object('/store', Gio.DBusNodeInfo.new_for_xml(xml).interfaces[0], on_call, None, None)
    Gio.bus_own_name_on_connection(bus, where, 0, lambda *a: print('ready', where, flush=True), None)
    GLib.MainLoop().run()


deeds.warm('')
serve_web() if where.isdigit() else serve_bus()
