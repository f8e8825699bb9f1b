/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of the record classes, alike in the library, the command line and the kernel module. */
#ifndef TIPME_CLASS_NUMBERS_H
#define TIPME_CLASS_NUMBERS_H

/*
 * What is recorded beside scheduling, wake-ups, threads and workers. Each can be switched while
 * recording, and costs nothing when off.
 */
enum tipme_class_number {
	TIPME_CLASS_IO,
	TIPME_CLASS_LOCK,
	TIPME_CLASS_MEMORY,
	TIPME_CLASS_IRQ,
	TIPME_CLASS_SIGNAL,
	TIPME_CLASS_PRIORITY,
	TIPME_CLASS_THROTTLE,
	TIPME_CLASS_FREQUENCY,
	TIPME_CLASS_IDLE,
	TIPME_CLASS_STEAL,
	TIPME_CLASS_SAMPLE,
	TIPME_CLASS_IDENTITY,
	TIPME_CLASS_MIGRATE,
	TIPME_CLASS_INPUT,
	TIPME_CLASS_MEMORY_STATE,
	TIPME_CLASS_SPEED,
	TIPME_CLASS_MESSAGE,
	TIPME_CLASS_WAYLAND,
	TIPME_CLASS_NETWORK,
	TIPME_CLASSES,
};

#endif
