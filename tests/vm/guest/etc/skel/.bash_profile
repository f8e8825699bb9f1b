# SPDX-License-Identifier: GPL-2.0-only
# A login on the first console becomes the desktop; Xorg has no set-user-id wrapper here, so it runs as this user.
[ "$(tty)" != /dev/tty1 ] || exec startx -- vt1 -keeptty -noreset -nolisten tcp > ~/startx.log 2>&1
