#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A server behind a slow line, in a network of its own: two name spaces, a cable between, and a line
of 1 Mbit/s on the server's side (the kernel's own queue, tbf). What somebody else sends fills that
queue before each answer, so that the answer waits for MS. Nothing of it leaves the machine.

usage: far.py DOOR MS     as root; who connects to the socket DOOR gets a TCP socket in that network,
                          from which 198.51.100.9, port 80, is asked; prints "ready" """
import ctypes
import os
import socket
import subprocess
import sys
DOOR, MS = sys.argv[1], int(sys.argv[2])
OURS, SERVER, NOBODY = '198.51.100.1', '198.51.100.9', '198.51.100.77'
CLONE_NEWNET, PR_SET_PDEATHSIG, SIGTERM = 0x40000000, 1, 15
BYTES_PER_MS, PACKET, HEADERS = 125, 1400, 42
libc = ctypes.CDLL(None, use_errno=True)


def own_network():
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), 'a network of its own')


def run(*lines):
    for line in lines:
        subprocess.run(line.split(), check=True)


def serve(told):
    libc.prctl(PR_SET_PDEATHSIG, SIGTERM)
    own_network()
    told.send(b'n')
    told.recv(1)
    run('ip link set v1 up', f'ip addr add {SERVER}/24 dev v1',
        f'ip neigh add {NOBODY} lladdr 02:00:00:00:00:77 dev v1 nud permanent',
        'tc qdisc add dev v1 root tbf rate 1mbit burst 1600 limit 8000000')
    others = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    others.setsockopt(socket.SOL_SOCKET, 32, 8 << 20)    # SO_SNDBUFFORCE
    others.connect((NOBODY, 9))
    door = socket.create_server((SERVER, 80))
    told.send(b'r')
    while True:
        client = door.accept()[0]
        client.recv(4096)
        for _ in range(MS * BYTES_PER_MS // (PACKET + HEADERS)):
            others.send(bytes(PACKET))
        client.sendall(b'ok')
        client.close()


def main():
    own_network()
    told, child = socket.socketpair()
    pid = os.fork()
    if not pid:
        serve(child)
    told.recv(1)
    run(f'ip link add v0 type veth peer name v1 netns {pid}', 'ip link set v0 up', f'ip addr add {OURS}/24 dev v0')
    told.send(b'v')
    told.recv(1)
    door = socket.socket(socket.AF_UNIX)
    door.bind(DOOR)
    os.chmod(DOOR, 0o666)
    door.listen()
    print('ready', DOOR, flush=True)
    while True:
        asks = door.accept()[0]
        with socket.socket() as tcp:
            socket.send_fds(asks, [b'.'], [tcp.fileno()])
        asks.close()


main()
