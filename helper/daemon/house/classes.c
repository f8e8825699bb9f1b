// SPDX-License-Identifier: GPL-2.0-only
/* Record classes, switched while recording. */
#include "config.h"

#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "classes.h"
#include "options.h"

int tipmed_classes_init(struct tipmed_classes *c, struct tipme_kernel_source *source,
			uint32_t wanted, uint32_t own)
{
	pthread_mutexattr_t attr;
	uint32_t able, on = tipme_kernel_source_classes(source, &able);

	*c = (struct tipmed_classes){
		.source = source, .own = own, .able = able | own, .on = on | (wanted & own)
	};
	c->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->done_fd < 0)
		return -errno;
	pthread_mutexattr_init(&attr);
	/* the trigger thread may wait for it */
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	int err = -pthread_mutex_init(&c->lock, &attr);

	pthread_mutexattr_destroy(&attr);
	return err;
}

int tipmed_classes_ask(struct tipmed_classes *c, const char *json, size_t len, uint64_t peer)
{
	int err = 0;

	if (len >= sizeof(c->text))
		return -EMSGSIZE;
	pthread_mutex_lock(&c->lock);
	if (c->busy) {
		err = -EBUSY;
	} else {
		memcpy(c->text, json, len);
		c->text[len] = '\0';
		c->busy = true;
		c->peer = peer;
	}
	pthread_mutex_unlock(&c->lock);
	return err ? err : kill(getpid(), SIGUSR1); /* who keeps house waits for signals */
}

/* "auto": true, false, or milliseconds. Returns 0 or -EINVAL. */
static int auto_set(struct tipmed_classes *c, struct json_object *value)
{
	int64_t ms = json_object_is_type(value, json_type_int) ? json_object_get_int64(value)
		     : json_object_get_boolean(value)	       ? TIPMED_AUTO_MS_DEFAULT
							       : 0;

	if (ms && (ms < TIPMED_AUTO_MS_LEAST || ms > TIPMED_AUTO_MS_MOST))
		return -EINVAL;
	c->auto_set(c->auto_arg, (unsigned int)ms);
	return 0;
}

static int wish_parse(struct tipmed_classes *c, const char *text, uint32_t *on, uint32_t *off,
		      char *why, size_t len)
{
	struct json_object *wish = json_tokener_parse(text);
	int err = 0;

	*on = *off = 0;
	if (!json_object_is_type(wish, json_type_object)) {
		json_object_put(wish);
		snprintf(why, len, "not a JSON object of class names and true or false");
		return -EINVAL;
	}
	json_object_object_foreach(wish, name, value)
	{
		int which = tipme_class_find(name, strlen(name));

		if (!strcmp(name, "auto") && !auto_set(c, value))
			continue;

		if (which < 0 || !json_object_is_type(value, json_type_boolean)) {
			snprintf(
				why, len,
				"%.40s: no record class, or neither true nor false: tipme status lists the classes",
				name);
			err = -EINVAL;
			break;
		}
		*(json_object_get_boolean(value) ? on : off) |= 1U << which;
	}
	json_object_put(wish);
	return err;
}

/*
 * Of a class that both can record, the kernel's part is the exact one and ours goes on beside it.
 */
static int one_set(struct tipmed_classes *c, unsigned int which, int on)
{
	int err = tipme_kernel_source_class_set(c->source, which, on);

	if (err == -ENOTSUP && c->own & 1U << which)
		err = 0;
	if (err)
		return err;
	pthread_mutex_lock(&c->lock);
	c->on = on ? c->on | 1U << which : c->on & ~(1U << which);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static int wish_do(struct tipmed_classes *c, uint32_t on, uint32_t off, char *why, size_t len)
{
	int err, first = 0;

	for (unsigned int i = 0; i < TIPME_CLASSES; i++) {
		if (!((on | off) & 1U << i))
			continue;
		err = one_set(c, i, on >> i & 1);
		if (err && !first) {
			snprintf(why, len, "%s: cannot be recorded here (%s)",
				 tipme_classes[i].name, strerror(-err));
			first = err;
		}
	}
	return first;
}

void tipmed_classes_do(struct tipmed_classes *c)
{
	char text[TIPMED_CLASSES_TEXT_MAX], why[256] = "";
	uint32_t on, off;
	bool asked;

	pthread_mutex_lock(&c->lock);
	asked = c->busy;
	memcpy(text, c->text, sizeof(text));
	pthread_mutex_unlock(&c->lock);
	if (!asked)
		return;
	int err = wish_parse(c, text, &on, &off, why, sizeof(why));

	if (!err)
		err = wish_do(c, on, off, why, sizeof(why));
	pthread_mutex_lock(&c->lock);
	c->error = err;
	snprintf(c->text, sizeof(c->text), "%s", why);
	pthread_mutex_unlock(&c->lock);
	eventfd_write(c->done_fd, 1); /* the place is free again when the trigger thread has told */
}

uint64_t tipmed_classes_done(struct tipmed_classes *c, int *error, char *why, size_t len)
{
	eventfd_t n;
	uint64_t peer;

	eventfd_read(c->done_fd, &n);
	pthread_mutex_lock(&c->lock);
	peer = c->peer;
	*error = c->error;
	snprintf(why, len, "%s", c->text);
	c->busy = false;
	pthread_mutex_unlock(&c->lock);
	return peer;
}

uint32_t tipmed_classes_get(struct tipmed_classes *c, uint32_t *able)
{
	pthread_mutex_lock(&c->lock);
	uint32_t on = c->on;

	*able = c->able;
	pthread_mutex_unlock(&c->lock);
	return on;
}

bool tipmed_classes_has(struct tipmed_classes *c, enum tipme_class_number which)
{
	uint32_t able;

	return tipmed_classes_get(c, &able) & 1U << which;
}
