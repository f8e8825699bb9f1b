// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the session permits. The X server is only connected to, not spoken to: a server that hangs,
 * the very case we are here for, must not hang us.
 */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "doctor.h"
#include "translate.h"
#include "words.h"

/* The number of a display of this machine; -1 for one of another machine, -2 for nonsense. */
static long display_number(const char *display)
{
	const char *colon = strrchr(display, ':');
	char *end;

	if (!colon)
		return -2;
	if (colon != display && strncmp(display, "unix:", 5) && strchr(display, '/') == NULL)
		return -1;
	errno = 0;
	long n = strtol(colon + 1, &end, 10);

	return errno || end == colon + 1 || (*end && *end != '.') || n < 0 || n > 65535 ? -2 : n;
}

/* Servers listen in the file system, and most of them on the abstract name, too. */
static int display_connect(long number, bool abstract)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int n = snprintf(addr.sun_path + abstract, sizeof(addr.sun_path) - 1, "/tmp/.X11-unix/X%ld",
			 number);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 &&
	    !connect(fd, (struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n + abstract)))
		return fd;
	n = -errno;
	if (fd >= 0)
		close(fd);
	return n;
}

static pid_t server_pid(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) ? 0 : cred.pid;
}

/* What tells the recorder of this server: "x_hooks", "x_client"; NULL: nothing. */
static const char *server_source(struct json_object *status, pid_t pid)
{
	struct json_object *list, *value, *source;

	if (!status || !json_object_object_get_ex(status, "x_servers", &list) ||
	    !json_object_is_type(list, json_type_array))
		return NULL;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *server = json_object_array_get_idx(list, i);

		if (json_object_object_get_ex(server, "pid", &value) &&
		    json_object_get_int(value) == pid &&
		    json_object_object_get_ex(server, "source", &source))
			return json_object_get_string(source);
	}
	return NULL;
}

/* Without a recorder: our library in its memory. Needs the right to look. */
static bool server_maps_hooks(pid_t pid)
{
	char path[64], line[4352];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, "/libtipme.so") != NULL;
	if (file)
		fclose(file);
	return found;
}

static void look_server(struct doctor_session *session, struct doctor_finding *f,
			const char *display, int fd)
{
	pid_t pid = server_pid(fd);
	const char *source = server_source(session->status, pid);
	bool joined = source && !strcmp(source, "x_hooks");

	session->hooks = joined || server_maps_hooks(pid);
	session->observed = source && !session->hooks;
	if (session->observed)
		doctor_say(
			f, DOCTOR_LIMITED,
			N_("for exact times: Xorg: Section \"Module\" Load \"tipme\"; see the page of the X hooks"),
			N_("%.32s: X server %d has no hooks; tipme-x-observer tells of it, as a client can see it: times in ms, stages inferred, a compositor's frames unseen"),
			display, (int)pid);
	else if (joined)
		doctor_say(
			f, DOCTOR_OK, "",
			N_("%.32s: X server %d shares its records with the recorder: presses, answers and a compositor's frames are exact"),
			display, (int)pid);
	else if (session->hooks)
		doctor_say(
			f, DOCTOR_OK, session->status ? "" : N_("sudo tipme start"),
			N_("%.32s: X server %d has hooks, and joins a recorder that serves it within a second"),
			display, (int)pid);
	else
		doctor_say(
			f, DOCTOR_LIMITED,
			N_("Xorg: Section \"Module\" Load \"tipme\"; see the page of the X hooks"),
			N_("%.32s: no hooks seen in X server %d: scheduling is recorded, but not which key press led to which picture"),
			display, (int)pid);
}

static bool is_wayland(void)
{
	const char *type = getenv("XDG_SESSION_TYPE"), *wayland = getenv("WAYLAND_DISPLAY");

	return (wayland && *wayland) || (type && !strcmp(type, "wayland"));
}

static void look_display(struct doctor_session *session, struct doctor_finding *f)
{
	const char *display = getenv("DISPLAY");
	long number = display ? display_number(display) : -2;

	if ((!display || !*display) && is_wayland()) {
		doctor_say(f, DOCTOR_OK, "", N_("no X server in this Wayland session"));
		return;
	}
	if (!display || !*display) {
		doctor_say(f, DOCTOR_LIMITED, N_("run it inside the session"),
			   N_("DISPLAY is not set: no X server to look at"));
		return;
	}
	if (number < 0) {
		doctor_say(f, DOCTOR_LIMITED, N_("run it on the machine of the screen"),
			   N_("DISPLAY is %.64s: %s"), display,
			   number == -1 ? _("a server of another machine cannot be recorded")
					: _("not the name of a display"));
		return;
	}
	int fd = display_connect(number, true);

	if (fd < 0)
		fd = display_connect(number, false);
	if (fd == -EAGAIN)
		doctor_say(
			f, DOCTOR_LIMITED, N_("tipme snap, if it hangs now"),
			N_("%.64s: the server takes no more connections: it hangs, or is very busy"),
			display);
	else if (fd < 0)
		doctor_say(f, DOCTOR_LIMITED, N_("start it, or correct DISPLAY"),
			   N_("%.64s: no server answers there: %s"), display, strerror(-fd));
	if (fd < 0)
		return;
	look_server(session, f, display, fd);
	close(fd);
}

/* A name may be a link to what is gone. */
static bool has_library(void)
{
	static const char *const pattern[] = { "/usr/lib*/libwayland-server.so.0",
					       "/usr/lib/*/libwayland-server.so.0" };
	bool has = false;

	for (size_t i = 0; i < sizeof(pattern) / sizeof(*pattern); i++) {
		glob_t found;

		if (glob(pattern[i], 0, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			has |= !access(found.gl_pathv[k], R_OK);
		globfree(&found);
	}
	return has;
}

/* Whether the recorder is told by the kernel when a key came. */
static bool records_input(struct json_object *status)
{
	struct json_object *classes, *on;

	return status && json_object_object_get_ex(status, "classes", &classes) &&
	       json_object_object_get_ex(classes, "input", &on) && json_object_get_boolean(on);
}

/*
 * What a compositor sends and takes is recorded by probes in its library, where the kernel has
 * such.
 */
static void look_wayland(struct doctor_session *session, struct doctor_finding *f)
{
	bool library = has_library();

	if (access("/sys/bus/event_source/devices/uprobe", F_OK))
		doctor_say(
			f, DOCTOR_LIMITED,
			N_("a kernel with CONFIG_UPROBE_EVENTS, as Debian's are"),
			N_("Wayland: scheduling is recorded; this kernel has no probes, so not which press was slow"));
	else if (!library)
		doctor_say(
			f, DOCTOR_LIMITED,
			N_("tipme start --wayland-library FILE, where it is another file"),
			N_("Wayland: scheduling is recorded; no libwayland-server is known here, so not which press was slow"));
	else if (records_input(session->status))
		doctor_say(
			f, DOCTOR_OK, "",
			N_("Wayland: exact from the key to the picture that the compositor used; not seen: the panel"));
	else
		doctor_say(
			f, DOCTOR_OK, session->status ? "" : N_("sudo tipme start"),
			N_("Wayland: exact from the compositor's delivery to the picture that it used; when the key came is exact only where this kernel lets functions be hooked; not seen: the panel"));
}

static void look_type(struct doctor_session *session, struct doctor_finding *f)
{
	const char *display = getenv("DISPLAY");

	if (is_wayland())
		look_wayland(session, f);
	else if (display && *display)
		doctor_say(f, DOCTOR_OK, "", N_("X"));
	else
		doctor_say(f, DOCTOR_LIMITED, "",
			   N_("no desktop session: scheduling is recorded all the same"));
}

/*
 * How each desktop binds a command to a key; what is not known here has a place for it in its
 * settings.
 */
static const struct {
	const char *desktop, *how;
} shortcuts[] = {
	{ "GNOME", N_("Settings, Keyboard, Custom Shortcuts: the command `tipme snap`") },
	{ "KDE", N_("System Settings, Shortcuts, Add Command: `tipme snap`") },
	{ "XFCE", N_("Settings, Keyboard, Application Shortcuts: the command `tipme snap`") },
	{ "MATE", N_("Control Center, Keyboard Shortcuts, Add: the command `tipme snap`") },
	{ "Cinnamon",
	  N_("System Settings, Keyboard, Shortcuts, Custom: the command `tipme snap`") },
	{ "LXQt", N_("Configuration Center, Shortcut Keys: the command `tipme snap`") },
	{ "sway", N_("in ~/.config/sway/config: bindsym Ctrl+Alt+minus exec tipme snap") },
	{ "i3", N_("in ~/.config/i3/config: bindsym Ctrl+Mod1+minus exec tipme snap") },
	{ "Hyprland", N_("in hyprland.conf: bind = CTRL ALT, minus, exec, tipme snap") },
	{ NULL, N_("in the desktop's settings give a key of your choice the command: tipme snap") },
};

static const char *shortcut_how(void)
{
	const char *desktop = getenv("XDG_CURRENT_DESKTOP");
	size_t i = 0;

	while (shortcuts[i].desktop && !(desktop && strcasestr(desktop, shortcuts[i].desktop)))
		i++;
	return shortcuts[i].how;
}

static int status_number(struct json_object *part, const char *name)
{
	struct json_object *value;

	return json_object_object_get_ex(part, name, &value) ? json_object_get_int(value) : 0;
}

/*
 * A process that watches for episodes, and with that the hot-key in some session of this user; 0:
 * none.
 */
static int agent_pid(struct json_object *status)
{
	struct json_object *list;

	if (!status || !json_object_object_get_ex(status, "agents", &list) ||
	    !json_object_is_type(list, json_type_array) || !json_object_array_length(list))
		return 0;
	return json_object_get_int(json_object_array_get_idx(list, 0));
}

static void look_hotkey(struct doctor_session *session, struct doctor_finding *f)
{
	struct json_object *hotkey = NULL, *chord = NULL;
	bool told = session->status &&
		    json_object_object_get_ex(session->status, "hotkey", &hotkey) &&
		    json_object_object_get_ex(hotkey, "chord", &chord);
	int keyboards = told ? status_number(hotkey, "keyboards") : 0;

	if (session->hooks)
		doctor_say(
			f, DOCTOR_OK, "",
			N_("Ctrl+Alt+minus, seen by the X server itself, even while a program holds the keyboard"));
	else if (agent_pid(session->status))
		doctor_say(
			f, DOCTOR_OK, "",
			N_("taken by tipme-agent (pid %d) in its session; try it there: tipme-agent --test-hotkey"),
			agent_pid(session->status));
	else if (keyboards)
		doctor_say(
			f, DOCTOR_OK, "",
			keyboards == 1
				? N_("%.63s, read by the recorder from %d keyboard: on the console, under Wayland, and while the screen hangs")
				: N_("%.63s, read by the recorder from %d keyboards: on the console, under Wayland, and while the screen hangs"),
			json_object_get_string(chord), keyboards);
	else if (told && status_number(hotkey, "refused"))
		doctor_say(
			f, DOCTOR_LIMITED, shortcut_how(),
			N_("%s The recorder may not read the keyboards, and neither hooks nor an agent are in this session"),
			_(TIPME_WORDS_HOTKEY_NONE));
	else
		doctor_say(f, DOCTOR_LIMITED, shortcut_how(), "%s", TIPME_WORDS_HOTKEY_NONE);
}

const struct doctor_check doctor_session_checks[] = {
	{ "session", false, look_type },
	{ "display", false, look_display },
	{ "hot-key", false, look_hotkey },
	{ 0 },
};
